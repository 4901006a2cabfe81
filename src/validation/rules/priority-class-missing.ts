import { memberRemovals, withoutNamed } from "../references/member-references.ts"
import { podSpecsOf, textIn, withPodSpecs } from "../references/pod-specs.ts"
import type { Rule } from "../rule.ts"

const kind = "scheduling.k8s.io/PriorityClass"
const member = "priorityClassName"

/** Priority classes that the trace lacks: the server refuses the pods. */
export const priorityClassMissing: Rule = {
  code: "E0011",
  name: "priority_class_missing",
  severity: "error",
  summary: "A pod template names a PriorityClass that the trace does not have.",
  explanation: [
    "The API server refuses pods of an unknown PriorityClass. system-cluster-critical and system-node-critical are exempt, because every cluster has them.",
    "Record PriorityClasses too, or create the class in the replay cluster. The fix removes priorityClassName, and priority, which would contradict it.",
  ],
  *needs(traced) {
    for (const { spec, path } of podSpecsOf(traced)) {
      const name = textIn(spec, member)
      if (name !== "" && !name.startsWith("system-"))
        yield { target: { kind, namespace: "", name }, kind, name, element: path, by: member }
    }
  },
  fix: {
    removes: "priorityClassName and priority",
    apply: (traced, isMissing) =>
      withPodSpecs(traced, (spec) => withoutNamed(spec, [member, "priority"], (name) => isMissing(kind, name))),
    removals: memberRemovals(["priority"]),
  },
}
