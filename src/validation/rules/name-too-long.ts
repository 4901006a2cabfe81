import { hasPrescribedName } from "../../trace/sanitising/built-in-kinds.ts"
import type { Rule } from "../rule.ts"

/** Most characters of the name of a namespace, an RFC 1123 label, and of other objects, an RFC 1123 subdomain. */
const longestLabel = 63
const longestName = 253

/** Names that are too long with the prefix of the replay's namespaces: nothing in them can be created. */
export const nameTooLong: Rule = {
  code: "E0014",
  name: "name_too_long",
  severity: "error",
  summary: "A namespace, or an object without namespace, has too long a name once the replay's prefix is before it.",
  explanation: [
    "A replay puts its objects into namespaces of its own: the prefix, a hyphen and the recorded name. A namespace may have 63 characters, and objects that are in none, which get the prefix too, 253.",
    "The finding is about the namespace or object. The prefix is virtual unless --namespace-prefix names another.",
    "Choose a shorter prefix for the replay: reel replay --namespace-prefix.",
  ],
  *needs({ gvk, namespace, name, namespacePrefix }) {
    if (namespacePrefix === "" || hasPrescribedName(gvk)) return
    const isNamespace = namespace !== "" || gvk === "v1.Namespace"
    const own = namespace === "" ? name : namespace
    const prefixed = `${namespacePrefix}-${own}`
    if (prefixed.length <= (isNamespace ? longestLabel : longestName)) return
    const about = { gvk: isNamespace ? "v1.Namespace" : gvk, namespace: "", name: own }
    const by = namespace === "" ? "metadata.name" : "metadata.namespace"
    yield { about, kind: "name", name: prefixed, element: "", by }
  },
}
