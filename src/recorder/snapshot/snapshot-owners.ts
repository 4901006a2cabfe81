/**
 * Which objects of a snapshot are owned, over any number of steps, by another object of it. Owners that were not listed are
 * asked for, each once.
 */
import { discover } from "../../kube/discovery.ts"
import { parseGvk } from "../../kube/gvk.ts"
import type { HttpClient } from "../../kube/http/http-client.ts"
import { requestOnce } from "../../kube/http/request-once.ts"
import { objectPath } from "../../kube/kind.ts"
import { type OwnerReference, readOwnerReferences } from "../../trace/ownership/owner-references.ts"

/** Owners by what is known of them. */
export class SnapshotOwners {
  readonly #client: Pick<HttpClient, "get">
  readonly #signal: AbortSignal
  /** UID of an object → its owners. */
  readonly #owners = new Map<string, ReadonlyArray<OwnerReference>>()
  /** Owners that nobody could tell of, by UID. */
  readonly #unknown = new Map<string, string>()

  constructor(client: Pick<HttpClient, "get">, signal: AbortSignal) {
    this.#client = client
    this.#signal = signal
  }

  /** An object that was listed. */
  learn(uid: string, owners: ReadonlyArray<OwnerReference>): void {
    if (uid !== "") this.#owners.set(uid, owners)
  }

  /** Owners that could not be looked up, for people. What they own was taken for unowned. */
  get unknown(): ReadonlyArray<string> {
    return [...this.#unknown.values()]
  }

  /**
   * Whether one of these owners, or one of theirs, is what is asked for, and is not itself owned by the object, whose UID is `own`: what
   * is part of a circle nobody outside of it makes again.
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

  /** All owners, the nearest first, each once; so circles end. */
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

  /** `undefined` if nobody can tell. An owner that is gone, or another of its name, owns nothing and has no owner. */
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
