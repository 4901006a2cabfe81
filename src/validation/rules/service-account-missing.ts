import type { JsonObject } from "../../trace/json/exact-json.ts"
import { withoutMember } from "../../trace/json/members.ts"
import { podSpecsOf, textIn, withPodSpecs } from "../references/pod-specs.ts"
import type { Rule } from "../rule.ts"

const kind = "ServiceAccount"
const members = ["serviceAccountName", "serviceAccount"] as const

/** The account that a member names; empty for the one that every namespace has. */
const accountIn = (spec: JsonObject, member: string): string => {
  const name = textIn(spec, member)
  return name === "default" ? "" : name
}

/** Pods of a service account that the trace lacks: the server refuses them. */
export const serviceAccountMissing: Rule = {
  code: "E0001",
  name: "service_account_missing",
  severity: "error",
  summary: "A pod template names a ServiceAccount that the trace does not have in the object's namespace.",
  explanation: [
    "The API server refuses pods whose ServiceAccount does not exist, so that none of the workload's pods is created in the replay.",
    "The account default is exempt, because every namespace has it. serviceAccount and serviceAccountName are two names of one field and count once.",
    "Record ServiceAccounts too, or create the account in the replay's namespace before the replay. The fix lets the pods use the account default.",
  ],
  *needs(traced) {
    for (const { spec, path } of podSpecsOf(traced))
      for (const member of members) {
        const name = accountIn(spec, member)
        const target = { kind, namespace: traced.namespace, name }
        if (name !== "") yield { target, kind, name, element: path, by: member }
      }
  },
  fix: {
    removes: "serviceAccountName and serviceAccount",
    apply: (traced, isMissing) =>
      withPodSpecs(traced, (spec) => {
        const isLost = members.some((member) => accountIn(spec, member) !== "" && isMissing(kind, textIn(spec, member)))
        return isLost ? members.reduce(withoutMember, spec) : spec
      }),
    removals: ({ element, by }, literal) => [{ where: `$s := ${element} | $s.${by} == ${literal}`, path: `$s.${by}` }],
  },
}
