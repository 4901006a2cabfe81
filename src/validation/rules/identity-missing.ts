import type { Rule } from "../rule.ts"

/** Objects without kind or name: nothing can be written. */
export const identityMissing: Rule = {
  code: "E0016",
  name: "identity_missing",
  severity: "error",
  summary: "An object has no name, or no apiVersion and kind.",
  explanation: [
    "A replay writes objects by kind and name; SimKube's tools stop at an object that lacks them.",
    "No recorder writes such objects: the trace was damaged, or changed by a program. The fields are to be corrected there.",
  ],
  *needs({ gvk, name }) {
    if (gvk === "") yield { kind: "", name: "", element: "", by: "kind" }
    else if (name === "") yield { kind: "", name: "", element: "", by: "metadata.name" }
  },
}
