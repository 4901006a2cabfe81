/**
 * The controllers above a pod in the target: the ReplicaSet and its Deployment, the Job and its CronJob, or any custom kind.
 *
 * Only what the server has answered is remembered, by UID (W-31: SimKube remembers failures for ever, and by name). A failed look-up ends
 * the chain there, for this time.
 */
import type { ApiClient } from "../../kube/client/api-client.ts"
import type { ApiObject, OwnerReference } from "../../kube/client/objects.ts"
import { controllerOf } from "../../kube/client/owner-references.ts"
import { ResourceFinder } from "../../kube/client/resource-finder.ts"
import { parseGvk } from "../../kube/gvk.ts"

/** A chain that is longer is a circle. */
const deepestChain = 8
/** Owners that are remembered; a ReplicaSet of a roll-out is asked for once as long as it creates pods. */
const mostRemembered = 4096

/** Looks owners up with the client; remembers at most 4,096 of them. */
export class PodOwners {
  readonly #client: ApiClient
  readonly #finder: ResourceFinder
  readonly #signal: AbortSignal
  /** By UID of an owner: its own controller, `undefined` if it has none. */
  readonly #controllers = new Map<string, OwnerReference | undefined>()

  constructor(client: ApiClient, signal: AbortSignal) {
    this.#client = client
    this.#finder = new ResourceFinder(client.connection)
    this.#signal = signal
  }

  /** From the nearest up; empty for a pod without controller. Never rejects. */
  async of(pod: Pick<ApiObject, "metadata">): Promise<ReadonlyArray<OwnerReference>> {
    const chain: OwnerReference[] = []
    const { namespace } = pod.metadata
    let owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true)
    while (owner !== undefined && chain.length < deepestChain) {
      chain.push(owner)
      owner = await this.#controllerOf(owner, namespace)
    }
    return chain
  }

  async #controllerOf(owner: OwnerReference, namespace: string | undefined): Promise<OwnerReference | undefined> {
    if (this.#controllers.has(owner.uid)) return this.#controllers.get(owner.uid)
    const object = await this.#read(owner, namespace)
    if (object?.metadata.uid !== owner.uid) return undefined
    const controller = controllerOf(object)
    if (this.#controllers.size >= mostRemembered) {
      const oldest = this.#controllers.keys().next().value
      if (oldest !== undefined) this.#controllers.delete(oldest)
    }
    this.#controllers.set(owner.uid, controller)
    return controller
  }

  async #read(
    { apiVersion, kind, name }: OwnerReference,
    namespace: string | undefined,
  ): Promise<ApiObject | undefined> {
    const gvk = parseGvk(`${apiVersion}.${kind}`)
    if (gvk === undefined) return undefined
    try {
      return await this.#client.get(await this.#finder.find(gvk), { namespace, name }, { signal: this.#signal })
    } catch {
      // Gone, or not readable with these credentials: the nearer owners remain.
      return undefined
    }
  }
}
