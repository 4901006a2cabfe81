/**
 * Which objects of a snapshot are owned, over any number of steps, by another object of it. Owners that were not listed are
 * asked for, each once.
 */
import { discover, resourcePath } from "../kube/discovery.ts"
import { parseGvk } from "../kube/gvk.ts"
import type { HttpClient } from "../kube/http/http-client.ts"
import { requestOnce } from "../kube/http/request-once.ts"
import { type OwnerReference, readOwnerReferences } from "../trace/owner-references.ts"

/** More steps than any chain has; ends one that bites its tail. */
const longestChain = 16

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

  /** Whether one of these owners, or one of theirs, is what is asked for. */
  async isBelow(
    owners: ReadonlyArray<OwnerReference>,
    namespace: string,
    isWanted: (uid: string) => boolean,
  ): Promise<boolean> {
    for await (const { uid } of this.chain(owners, namespace)) if (isWanted(uid)) return true
    return false
  }

  /** All owners, the nearest first. */
  async *chain(owners: ReadonlyArray<OwnerReference>, namespace: string): AsyncGenerator<OwnerReference, void> {
    let level = owners
    for (let step = 0; step < longestChain && level.length > 0; step++) {
      yield* level
      const next: OwnerReference[] = []
      for (const owner of level) next.push(...(await this.#ownersOf(owner, namespace)))
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
    const path = `${resourcePath(discovery.resource, namespace)}/${encodeURIComponent(owner.name)}`
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
