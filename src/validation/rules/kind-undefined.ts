import { isBuiltInKind } from "../../trace/sanitising/built-in-kinds.ts"
import { kindWithoutVersion } from "../present-objects.ts"
import { objectIn, textIn } from "../references/pod-specs.ts"
import type { Rule } from "../rule.ts"

const definitions = "apiextensions.k8s.io/CustomResourceDefinition"
/** What a definition provides; no object has this kind. */
const defined = "defined kind"

/** Objects of a custom kind without its definition: a cluster that does not have it refuses them. */
export const kindUndefined: Rule = {
  code: "E0009",
  name: "kind_undefined",
  severity: "error",
  summary: "Objects are of a custom kind whose CustomResourceDefinition the trace does not have.",
  explanation: [
    "An API server refuses objects of kinds that it does not know.",
    "The finding is about the kind and counts the states of its objects. Kinds of Kubernetes itself are exempt. A definition counts wherever the trace has it, also after the objects; the trace need not show that the server accepted it.",
    "Install the definition in the replay cluster (kubectl get crd NAME -o yaml in the recorded one), or record CustomResourceDefinitions too.",
  ],
  *needs({ gvk }) {
    if (gvk === "" || isBuiltInKind(gvk)) return
    const name = kindWithoutVersion(gvk)
    const target = { kind: defined, namespace: "", name }
    yield {
      target,
      about: { gvk, namespace: "", name: "" },
      kind: "CustomResourceDefinition",
      name,
      element: "",
      by: "kind",
    }
  },
  *provides({ gvk, object }) {
    if (kindWithoutVersion(gvk) !== definitions) return
    const spec = objectIn(object, "spec")
    const name = `${textIn(spec, "group")}/${textIn(objectIn(spec, "names"), "kind")}`
    yield { kind: defined, namespace: "", name }
  },
}
