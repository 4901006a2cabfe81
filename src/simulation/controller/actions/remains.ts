/** What is left of a Simulation in the cluster besides its Job, asked of the server: what a cache does not know yet would stay behind for ever. */
import type { ControllerCluster } from "../../../host/controller/access/controller-cluster.ts"
import { NotFoundError } from "../../../kube/client/api-errors.ts"
import type { ApiObject } from "../../../kube/client/objects.ts"
import { derivedNames } from "../../api/derived-names.ts"
import { nameOfKind } from "../kinds.ts"
import { isOwnedBy } from "../objects/belonging.ts"
import type { Remain } from "../state/observation.ts"

/**
 * In the order of their removal. The webhook first: without its driver it would refuse every pod of the replay, also while the driver's roots take their objects with
 * them.
 */
export const findRemains = async (
  cluster: ControllerCluster,
  simulation: ApiObject,
): Promise<ReadonlyArray<Remain>> => {
  const names = derivedNames(simulation.metadata.name)
  const roots = (await cluster.listLive(nameOfKind.root)).filter((root) => isOwnedBy(root, simulation))
  const own = roots.find(({ metadata }) => metadata.name === names.root)
  const configuration = await readConfiguration(cluster, names.webhook)
  const belongs = configuration !== undefined && own !== undefined && isOwnedBy(configuration, own)
  return [
    ...(belongs ? [remain("webhook", configuration)] : []),
    ...roots.filter((root) => root !== own).map((root) => remain("driver's root", root)),
    ...(own === undefined ? [] : [remain("root", own)]),
  ]
}

/** Deletes one of them. What depends on a root is gone before the root is. */
export const removeRemain = (cluster: ControllerCluster, { stage, name, uid }: Remain): Promise<void> => {
  const kind = stage === "webhook" ? nameOfKind.webhooks : nameOfKind.root
  const slash = kind.lastIndexOf(".")
  const object = { apiVersion: kind.slice(0, slash), kind: kind.slice(slash + 1), metadata: { name, uid } }
  return cluster.delete(object, { propagationPolicy: stage === "webhook" ? "Background" : "Foreground" })
}

const remain = (stage: Remain["stage"], { metadata }: ApiObject): Remain => ({
  stage,
  name: metadata.name,
  uid: metadata.uid,
  isDeleting: metadata.deletionTimestamp !== undefined,
})

const readConfiguration = async (cluster: ControllerCluster, name: string): Promise<ApiObject | undefined> => {
  try {
    return await cluster.getLive(nameOfKind.webhooks, { name })
  } catch (error) {
    if (error instanceof NotFoundError) return undefined
    throw error
  }
}
