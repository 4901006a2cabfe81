/** The Lease `sk-lease` as it is written: taken, renewed while the simulation lasts, and deleted at the end. It is SimKube's, so that its tools show who runs. */
import type { ControllerCluster } from "../../../host/controller/access/controller-cluster.ts"
import { NotFoundError } from "../../../kube/client/api-errors.ts"
import type { ApiObject } from "../../../kube/client/objects.ts"
import { managedBy, ownedBy } from "../objects/belonging.ts"
import { holderAnnotation, type TurnLease } from "../state/turn.ts"
import { nameOfKind } from "./kinds.ts"

/** SimKube's. */
export const turnLease = "sk-lease"

/** ms between two renewals. */
export const renewMs = 10_000
/** s that the Lease claims to be valid for without a renewal. It is never taken over because of its age: only once its holder is settled or gone. */
const durationSeconds = 60

/** From the server: whose turn it is must not depend on how far a cache is. */
export const readLease = async (cluster: ControllerCluster, namespace: string): Promise<TurnLease | undefined> => {
  try {
    return await cluster.getLive<TurnLease>(nameOfKind.lease, { namespace, name: turnLease })
  } catch (error) {
    if (error instanceof NotFoundError) return undefined
    throw error
  }
}

/** Rejects with AlreadyExistsError or ConflictError if another process was faster. */
export const takeLease = async (
  cluster: ControllerCluster,
  namespace: string,
  simulation: ApiObject,
  lease: TurnLease | undefined,
): Promise<void> => {
  const { name, uid = "" } = simulation.metadata
  const now = microTime(cluster)
  const own = {
    annotations: { [holderAnnotation]: uid },
    // With the Simulation, also if its finalizer was removed by hand.
    ownerReferences: [ownedBy(simulation)],
  }
  const spec = { holderIdentity: name, leaseDurationSeconds: durationSeconds, acquireTime: now, renewTime: now }
  if (lease === undefined) {
    const metadata = { namespace, name: turnLease, labels: managedBy, ...own }
    await cluster.create({ apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec })
    return
  }
  await cluster.update({ ...lease, metadata: { ...lease.metadata, ...own }, spec: { ...lease.spec, ...spec } })
}

/** Sends nothing if the last renewal is fresh. */
export const renewLease = async (cluster: ControllerCluster, lease: TurnLease | undefined): Promise<void> => {
  if (lease === undefined) return
  const age = Date.parse(cluster.now()) - Date.parse(lease.spec?.renewTime ?? "")
  // A second less: the next look comes after exactly one period.
  if (age < renewMs - 1000) return
  const { resourceVersion } = lease.metadata
  await cluster.patch(lease, "merge", { metadata: { resourceVersion }, spec: { renewTime: microTime(cluster) } })
}

/** Of a Lease that is gone already there is nothing to release. */
export const releaseLease = (cluster: ControllerCluster, lease: TurnLease | undefined): Promise<void> =>
  lease === undefined ? Promise.resolve() : cluster.delete(lease)

/** metav1.MicroTime. */
const microTime = (cluster: ControllerCluster): string => cluster.now().replace("Z", ".000000Z")
