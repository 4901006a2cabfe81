/**
 * Determines which objects of a snapshot are owned, directly or not, by another object of it. Owners that were not listed are looked up,
 * each once.
 */
import { discover } from "../../kube/discovery/discovery.ts"
import { parseGvk } from "../../kube/gvk.ts"
import type { HttpClient } from "../../kube/http/http-client.ts"
import { requestOnce } from "../../kube/http/request-once.ts"
import { objectPath } from "../../kube/kind.ts"
import { type OwnerReference, readOwnerReferences } from "../../trace/ownership/owner-references.ts"

/** The known owners of each object. */
export class SnapshotOwners {
  readonly #client: Pick<HttpClient, "get">
  readonly #signal: AbortSignal
  /** UID of an object → its owners. */
  readonly #owners = new Map<string, ReadonlyArray<OwnerReference>>()
  /** Owners that could not be looked up, by UID. */
  readonly #unknown = new Map<string, string>()

  constructor(client: Pick<HttpClient, "get">, signal: AbortSignal) {
    this.#client = client
    this.#signal = signal
  }

  /** Adds a listed object. */
  learn(uid: string, owners: ReadonlyArray<OwnerReference>): void {
    if (uid !== "") this.#owners.set(uid, owners)
  }

  /** Owners that could not be looked up, for people. Their objects are treated as not owned. */
  get unknown(): ReadonlyArray<string> {
    return [...this.#unknown.values()]
  }

  /**
   * Whether a direct or indirect owner is wanted (`isWanted`) and is not itself owned by the object, whose UID is `own`: no owner outside
   * of a circle would create its members again.
   */
  async isBelow(
    owners: ReadonlyArray<OwnerReference>,
    namespace: string,
    isWanted: (uid: string) => boolean,
    own: string,
  ): Promise<boolean> {
    for await (const owner of this.chain(owners, namespace))
      if (isWanted(owner.uid) && owner.uid !== own && !(await this.#isBelow(owner, namespace, own))) return true
    return false
  }

  async #isBelow(owner: OwnerReference, namespace: string, uid: string): Promise<boolean> {
    for await (const each of this.chain(await this.#ownersOf(owner, namespace), namespace))
      if (each.uid === uid) return true
    return false
  }

  /** All owners, nearest first, each once, so that circles terminate. */
  async *chain(owners: ReadonlyArray<OwnerReference>, namespace: string): AsyncGenerator<OwnerReference, void> {
    const seen = new Set<string>()
    for (let level = owners; level.length > 0; ) {
      const next: OwnerReference[] = []
      for (const owner of level) {
        if (seen.has(owner.uid)) continue
        seen.add(owner.uid)
        yield owner
        next.push(...(await this.#ownersOf(owner, namespace)))
      }
      level = next
    }
  }

  async #ownersOf(owner: OwnerReference, namespace: string): Promise<ReadonlyArray<OwnerReference>> {
    const known = this.#owners.get(owner.uid)
    if (known !== undefined) return known
    const found = await this.#lookUp(owner, namespace)
    if (found === undefined)
      this.#unknown.set(owner.uid, `${owner.apiVersion}.${owner.kind} ${namespace}/${owner.name}`)
    this.#owners.set(owner.uid, found ?? [])
    return found ?? []
  }

  /** `undefined` if the owner cannot be looked up. An owner that is gone, or replaced by another object of its name, has no owners. */
  async #lookUp(owner: OwnerReference, namespace: string): Promise<ReadonlyArray<OwnerReference> | undefined> {
    const gvk = parseGvk(`${owner.apiVersion}.${owner.kind}`)
    if (gvk === undefined) return undefined
    const options = { signal: this.#signal }
    const discovery = await discover(this.#client, gvk, options)
    if (discovery.tag === "absent") return []
    if (discovery.tag !== "found") return undefined
    const path = objectPath(discovery.resource, namespace, owner.name)
    const answer = await requestOnce(this.#client, path, options)
    if (answer.tag !== "response") return undefined
    if (answer.status === 404) return []
    if (answer.status !== 200) return undefined
    const { metadata } = JSON.parse(answer.body.toString("utf8")) as {
      readonly metadata?: { readonly uid?: unknown; readonly ownerReferences?: unknown }
    }
    return metadata?.uid === owner.uid ? readOwnerReferences(metadata.ownerReferences) : []
  }
}
