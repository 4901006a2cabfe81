import { builtInTemplatePaths, podSpecsOf } from "../references/pod-specs.ts"
import type { Rule } from "../rule.ts"

/** What an object with a pod template at a path provides; no object has this kind. */
const kind = "pod template"

/** Configured template paths at which no object of the kind has a pod template: its pods do not get to virtual nodes. */
export const templatePathMissing: Rule = {
  code: "E0015",
  name: "template_path_missing",
  severity: "error",
  summary: "The trace's configuration names a pod template path at which no object of the kind has a pod template.",
  explanation: [
    "A replay changes pod templates so that pods get to virtual nodes. SimKube creates what is missing at the path, which the API server refuses or ignores; reel replay leaves it. Either way the pods of the kind go to real nodes, or stay pending.",
    "The finding is about the kind. It is known at the end of the trace: one object with a template at the path is enough, because lists of templates may be empty. Kinds of Kubernetes itself are exempt; their paths are known.",
    "Correct podSpecTemplatePaths in the recorder's configuration: extended JSON pointers to templates, objects with metadata and spec, such as /spec/template or /spec/workers/*/template.",
  ],
  *needs({ gvk, templatePaths }) {
    if (builtInTemplatePaths(gvk) !== undefined) return
    for (const name of templatePaths)
      yield {
        target: { kind, namespace: gvk, name },
        about: { gvk, namespace: "", name: "" },
        kind,
        name,
        element: "",
        by: "podSpecTemplatePaths",
      }
  },
  *provides(traced) {
    if (builtInTemplatePaths(traced.gvk) !== undefined) return
    for (const name of traced.templatePaths)
      if (podSpecsOf({ ...traced, templatePaths: [name] }).length > 0) yield { kind, namespace: traced.gvk, name }
  },
}
