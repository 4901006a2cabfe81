import type { Rule } from "../rule.ts"

const kind = "Namespace"

/** Namespaces that every cluster has. */
const everywhere: ReadonlySet<string> = new Set(["default", "kube-node-lease", "kube-public", "kube-system"])

/** Namespaces of objects that the trace does not have: a replay makes them, without labels. */
export const namespaceMissing: Rule = {
  code: "W0008",
  name: "namespace_missing",
  severity: "warning",
  summary: "Objects are in a namespace that the trace does not have.",
  explanation: [
    "A replay creates the namespaces it needs, but without the labels and annotations that the recorded one had. Pod Security levels, the injection of sidecars, network policies and quotas select namespaces by them.",
    "The finding is about the namespace and counts the states of objects in it. default and those that begin with kube- and that every cluster has are exempt.",
    "Record Namespaces too if anything in the replay depends on their labels.",
  ],
  *needs({ namespace }) {
    if (namespace === "" || everywhere.has(namespace)) return
    const about = { gvk: "v1.Namespace", namespace: "", name: namespace }
    yield {
      target: { kind, namespace: "", name: namespace },
      about,
      kind,
      name: namespace,
      element: "",
      by: "metadata.namespace",
    }
  },
}
