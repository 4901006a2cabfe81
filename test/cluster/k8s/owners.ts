/** Pods that belong to objects of kinds which are not recorded, so that the recorder has to look them up. */
import { kubectl, kubectlJson } from "../command.ts"
import { at, textAt } from "../exact-json.ts"
import type { TestCluster } from "../guard.ts"
import { apply, type KubernetesObject } from "./installation.ts"

/** How to create an owner if the cluster has none. Its controller must ignore the pods that name it as owner. */
const makers: Readonly<Record<string, (namespace: string) => KubernetesObject>> = {
  replicationcontrollers: (namespace) => ({
    apiVersion: "v1",
    kind: "ReplicationController",
    metadata: { name: "owner", namespace },
    spec: {
      replicas: 0,
      selector: { app: "nobody" },
      template: {
        metadata: { labels: { app: "nobody" } },
        spec: { containers: [{ name: "nothing", image: "nothing" }] },
      },
    },
  }),
}

/**
 * Creates, for each resource, a pod that one of its objects owns. The namespace must exist.
 *
 * @throws Error for a resource without an object in the cluster that this module cannot create either.
 */
export const makeOwnedPods = async (
  cluster: TestCluster,
  namespace: string,
  resources: ReadonlyArray<string>,
): Promise<void> => {
  for (const resource of resources) {
    const make = makers[resource]
    if (make !== undefined) await apply(cluster, [make(namespace)])
    const listed = await kubectlJson(cluster, "get", resource, "--all-namespaces")
    const items = at(listed, "items")
    const owner = Array.isArray(items)
      ? items.find((item) => ["", namespace].includes(textAt(item, "metadata", "namespace")))
      : undefined
    if (owner === undefined) throw new Error(`there is no object of ${resource} to own a pod, and no way to make one`)
    await apply(cluster, [
      {
        apiVersion: "v1",
        kind: "Pod",
        metadata: {
          name: `of-${resource}`,
          namespace,
          ownerReferences: [
            {
              apiVersion: textAt(owner, "apiVersion"),
              kind: textAt(owner, "kind"),
              name: textAt(owner, "metadata", "name"),
              uid: textAt(owner, "metadata", "uid"),
            },
          ],
        },
        spec: { containers: [{ name: "nothing", image: "nothing" }] },
      },
    ])
  }
}

/** Creates a namespace with everything that pods need. */
export const makeNamespace = async (cluster: TestCluster, name: string): Promise<void> => {
  await kubectl(cluster, "create", "namespace", name)
  await kubectl(cluster, "wait", "--for=create", "serviceaccount/default", "--namespace", name, "--timeout=30s")
}
