import { environmentFix, environmentNeeds } from "../references/environment-references.ts"
import type { Rule } from "../rule.ts"

const source = { kind: "Secret", keyRef: "secretKeyRef", ref: "secretRef" } as const

/** Environment variables from a Secret that the trace lacks: the kubelet does not start the containers. */
export const environmentSecretMissing: Rule = {
  code: "E0002",
  name: "envvar_secret_missing",
  severity: "error",
  summary:
    "An environment variable of a container takes its value from a Secret that the trace does not have in the object's namespace.",
  explanation: [
    "A container whose environment refers to a missing Secret is not started. Virtual nodes do not look, so that a replay on them works; nodes that run containers refuse.",
    "Checked are env and envFrom of containers, init containers and ephemeral containers. What counts is the name of the Secret, not the key in it. References with optional: true are exempt.",
    "Record Secrets too, or create it in the replay's namespace. The fix removes the variables.",
  ],
  needs: (traced) => environmentNeeds(traced, source),
  fix: environmentFix(source),
}
