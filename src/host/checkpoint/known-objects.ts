/**
 * The objects of one selection that a controller knows: those that it was given, and those of which it has not dealt with the deletion.
 *
 * In memory it is always right; what differs from the file waits in {@link KnownObjects.unwritten} until the checkpoint is committed.
 */
import type { ApiObject, Metadata, ObjectBase } from "../../kube/index.ts"
import { keyOf } from "../cache/object-cache.ts"

interface Known {
  readonly text: string
  /** The number of what was said of it last. */
  generation: number
}

export class KnownObjects {
  readonly #objects = new Map<string, Known>()
  #unwritten = new Set<string>()
  /** Grows with each `know` and `gone`, over all objects, so that no number comes again for an object that was removed. */
  #generation = 0

  /** `rows`: UIDs and texts of the file. */
  constructor(rows: Iterable<readonly [uid: string, text: string]> = []) {
    for (const [uid, text] of rows) this.#objects.set(uid, { text, generation: 0 })
  }

  get size(): number {
    return this.#objects.size
  }

  /** All of them, also those whose deletion has not been dealt with. */
  all(): ReadonlyArray<KnownObject> {
    return [...this.#objects.values()].map(({ text }) => readKnown(text))
  }

  /** The controller is about to be given the object, which must be committed before. */
  know(object: ObjectBase): void {
    const { uid } = object.metadata
    // An API server gives every object one; without it there is no telling whether it is the same.
    if (uid === undefined) return
    const text = knownText(object)
    const known = this.#objects.get(uid)
    const generation = ++this.#generation
    if (known?.text === text) known.generation = generation
    else {
      this.#objects.set(uid, { text, generation })
      this.#unwritten.add(uid)
    }
  }

  /** The deletion is about to be delivered. The object stays known until {@link forget} with the generation that this returns. */
  gone(uid: string): number {
    const generation = ++this.#generation
    const known = this.#objects.get(uid)
    if (known !== undefined) known.generation = generation
    return generation
  }

  /**
   * The controller has dealt with that deletion. Without effect if the object has come back into the selection meanwhile, also if it has left
   * it again: that is another deletion, which the controller still has to deal with.
   */
  forget(uid: string, generation: number): void {
    if (this.#objects.get(uid)?.generation !== generation) return
    this.#objects.delete(uid)
    this.#unwritten.add(uid)
  }

  /** What differs from the file: texts by UID, `undefined` for those to remove. */
  *unwritten(): Iterable<readonly [uid: string, text: string | undefined]> {
    for (const uid of this.#unwritten) yield [uid, this.#objects.get(uid)?.text]
  }

  get isWritten(): boolean {
    return this.#unwritten.size === 0
  }

  /** The file has everything. */
  written(): void {
    this.#unwritten = new Set()
  }

  /** It is not known what the file has. */
  lost(): void {
    for (const uid of this.#objects.keys()) this.#unwritten.add(uid)
  }
}

/**
 * What a checkpoint keeps of an object that a controller knows: as much as a deletion needs to be mapped to what it concerns.
 *
 * Guaranteed: nothing but names, labels and owners. No data, spec or status, so nothing of a Secret; no annotations either, because
 * `kubectl apply` keeps whole objects in one. `metadata` has name, namespace, uid, labels and ownerReferences, as far as the object has them.
 */
export interface KnownObject extends ApiObject {
  readonly metadata: Metadata & { readonly uid: string }
}

/** The text of a {@link KnownObject}, equal for equal ones. */
const knownText = ({ apiVersion, kind, metadata }: ObjectBase): string => {
  const { name, namespace, uid, labels, ownerReferences } = metadata
  return JSON.stringify({ apiVersion, kind, metadata: { name, namespace, uid, labels, ownerReferences } })
}

/** Reads what {@link knownText} wrote. Throws if it is something else. */
export const readKnown = (text: string): KnownObject => {
  const { apiVersion, kind, metadata }: Partial<KnownObject> = JSON.parse(text)
  if (typeof apiVersion !== "string" || typeof kind !== "string" || typeof metadata?.uid !== "string")
    throw new SyntaxError("a row is not an object")
  return { apiVersion, kind, metadata }
}

/**
 * Finds out what was deleted while nothing watched: compares the objects that a controller knows with the state that its watch begins with.
 *
 * Guaranteed, in whatever order the state arrives and changes meanwhile: each known object that is not in the state is returned exactly once,
 * before another object of its name and at the latest with the completed state; none is returned that is in the state, or whose deletion was
 * delivered by the watch itself. UIDs decide: an object that was deleted and created again is two.
 */
export class StateComparison {
  readonly #unseen = new Map<string, KnownObject>()
  readonly #uids = new Map<string, Set<string>>()
  /** Deleted while the state arrived: a part of the state that was read earlier may still have them. */
  readonly #ended = new Set<string>()

  constructor(known: Iterable<KnownObject>) {
    for (const object of known) {
      const { uid } = object.metadata
      const key = keyOf(object)
      this.#unseen.set(uid, object)
      this.#uids.set(key, (this.#uids.get(key) ?? new Set()).add(uid))
    }
  }

  /** The state has an object. Returns the former objects of its name, which must be gone. */
  seen(key: string, uid: string): ReadonlyArray<KnownObject> {
    this.#unseen.delete(uid)
    const uids = this.#uids.get(key)
    if (uids === undefined) return []
    this.#uids.delete(key)
    return [...uids].flatMap((other) => this.#take(other) ?? [])
  }

  /** The watch itself delivers the deletion. */
  ended(uid: string): void {
    this.#unseen.delete(uid)
    this.#ended.add(uid)
  }

  /** Whether the deletion of the object has been delivered since the comparison began. */
  hasEnded(uid: string): boolean {
    return this.#ended.has(uid)
  }

  /** The state is complete. Returns what else is gone. */
  completed(): ReadonlyArray<KnownObject> {
    const gone = [...this.#unseen.values()]
    this.#unseen.clear()
    this.#uids.clear()
    return gone
  }

  #take(uid: string): KnownObject | undefined {
    const object = this.#unseen.get(uid)
    this.#unseen.delete(uid)
    return object
  }
}
