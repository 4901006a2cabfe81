import { withoutMember } from "../../trace/json/members.ts"
import type { Rule } from "../rule.ts"

/** Objects with a status, which the replay cluster's controllers write themselves. */
export const statusPopulated: Rule = {
  code: "W0000",
  name: "status_field_populated",
  severity: "warning",
  isOfSanitised: true,
  summary: "An object has a status.",
  explanation: [
    "Controllers write the status of objects. A status in a trace is what the recorded cluster's controllers found; in a replay it is removed, or other controllers overwrite it.",
    "Traces of a recorder that were not sanitised have a status in nearly every object. A replay leaves it out, so nothing is found in them.",
  ],
  *needs({ object }) {
    if (Object.hasOwn(object, "status") && object.status !== null)
      yield { kind: "", name: "", element: "", by: "status" }
  },
  fix: {
    removes: "the status",
    apply: ({ object }, isMissing) => (isMissing("", "") ? withoutMember(object, "status") : object),
    removals: () => [{ path: "status" }],
  },
}
