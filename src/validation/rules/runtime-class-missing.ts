import { memberRemovals, withoutNamed } from "../references/member-references.ts"
import { podSpecsOf, textIn, withPodSpecs } from "../references/pod-specs.ts"
import type { Rule } from "../rule.ts"

const kind = "node.k8s.io/RuntimeClass"
const member = "runtimeClassName"

/** Runtime classes that the trace lacks: the server refuses the pods. */
export const runtimeClassMissing: Rule = {
  code: "E0013",
  name: "runtime_class_missing",
  severity: "error",
  summary: "A pod template names a RuntimeClass that the trace does not have.",
  explanation: [
    "The API server refuses pods of an unknown RuntimeClass.",
    "Record RuntimeClasses too, or create the class in the replay cluster. The fix removes runtimeClassName, and overhead, which is refused without a class.",
  ],
  *needs(traced) {
    for (const { spec, path } of podSpecsOf(traced)) {
      const name = textIn(spec, member)
      if (name !== "") yield { target: { kind, namespace: "", name }, kind, name, element: path, by: member }
    }
  },
  fix: {
    removes: "runtimeClassName and overhead",
    apply: (traced, isMissing) =>
      withPodSpecs(traced, (spec) => withoutNamed(spec, [member, "overhead"], (name) => isMissing(kind, name))),
    removals: memberRemovals(["overhead"]),
  },
}
