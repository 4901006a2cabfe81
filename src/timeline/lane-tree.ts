/**
 * The rows of a time line as a tree: namespaces, in them what no object of the namespace owns, and below each object what it owns.
 *
 * An owner counts only within the namespace of what it owns: the mirror pods of a node stay in their own. Owners of which only the name is recorded have a
 * lane as soon as something that they own has one. Of a circle, one object is directly below the namespace. Siblings are put in order when they are asked for:
 * sorting all of 100,000 would take longer than building the tree.
 */

import type { Lane, LaneObject } from "./lane.ts"

/** An owner as what it owns names it. */
export type LaneOwner = Pick<LaneObject, "gvk" | "name" | "uid">

/** An object of the tree. */
export interface LaneRow extends LaneObject {
  /** Of its lane. */
  readonly id: string
  /** Preferred ones first. Rows may share one array. */
  readonly owners: ReadonlyArray<LaneOwner>
}

/** The objects of a tree, by their index from 0: trees of one recording share its names. */
export interface LaneRows {
  readonly count: number
  /** Names, by the numbers of {@link namespaceAt}; they may be more than are used. */
  readonly namespaces: ReadonlyArray<string>
  /** By the numbers of {@link ownersAt}. 0: none. */
  readonly ownerSets: ReadonlyArray<ReadonlyArray<LaneOwner>>
  readonly namespaceAt: (index: number) => number
  readonly ownersAt: (index: number) => number
  readonly nameAt: (index: number) => string
  readonly objectAt: (index: number) => LaneObject & Pick<LaneRow, "id">
  /** By the id of its lane; −1: there is none. */
  readonly indexOf: (id: string) => number
  /** The first object with a UID, which is not empty; −1: there is none. */
  readonly indexOfUid: (uid: string) => number
}

/** Rows that are in memory. */
export const laneRows = (rows: ReadonlyArray<LaneRow>): LaneRows => {
  const namespaces = [...new Set(rows.map(({ namespace }) => namespace))]
  const numbers = new Map(namespaces.map((name, number) => [name, number]))
  const sets = new Map<ReadonlyArray<LaneOwner>, number>([[[], 0]])
  for (const { owners } of rows) if (owners.length > 0 && !sets.has(owners)) sets.set(owners, sets.size)
  const firstOf = (keyOf: (row: LaneRow) => string) =>
    new Map(rows.map((row, at) => [keyOf(row), at] as const).reverse())
  const [byId, byUid] = [firstOf(({ id }) => id), firstOf(({ uid }) => uid)]
  const at = (index: number): LaneRow => rows[index] as LaneRow
  return {
    ...{ count: rows.length, namespaces, ownerSets: [...sets.keys()] },
    namespaceAt: (index) => numbers.get(at(index).namespace) ?? 0,
    ownersAt: (index) => sets.get(at(index).owners) ?? 0,
    nameAt: (index) => at(index).name,
    objectAt: at,
    indexOf: (id) => byId.get(id) ?? NONE,
    indexOfUid: (uid) => byUid.get(uid) ?? NONE,
  }
}

/** A lane with the ids of those above it, outermost first. */
interface PlacedLane {
  readonly lane: Lane
  readonly above: ReadonlyArray<string>
}

/** An owner of which only the name is recorded. */
interface OwnerRow extends LaneOwner {
  readonly id: string
  /** Its number. */
  readonly namespace: number
  /** Its index in the tree. */
  readonly place: number
}

const namespacePrefix = "namespace/"
const ownerPrefix = "owner/"

/** `parent` of a namespace. */
const NONE = -1

/** Memory: the rows that it is given, and 25 bytes each. */
export class LaneTree {
  /** Objects, then owners that are only names, then namespaces. */
  readonly #rows: LaneRows
  readonly #owners: ReadonlyMap<string, OwnerRow>
  readonly #ownersInOrder: ReadonlyArray<OwnerRow>
  readonly #namespaces: ReadonlyArray<string>
  readonly #parents: Int32Array
  /** Objects below each, of those that are kept. */
  readonly #objects: Uint32Array
  readonly #children: Uint32Array
  /** All that are kept, siblings next to each other; those of one begin at its place in `#starts`. */
  readonly #order: Uint32Array
  readonly #starts: Uint32Array
  readonly #sorted: Uint8Array

  /** `find`: a part of a name in any case; only objects that have it are kept, with what is above them. */
  constructor(rows: LaneRows, find = "") {
    const { owners, namespaces, parents, namespaceOf } = parentsOf(rows)
    this.#rows = rows
    this.#owners = owners
    this.#ownersInOrder = [...owners.values()]
    this.#namespaces = namespaces
    this.#parents = parents
    const size = parents.length
    const downwards = cutCircles(parents, rows.count + owners.size, namespaceOf)
    this.#objects = new Uint32Array(size)
    this.#children = new Uint32Array(size)
    const kept = this.#count(downwards, find.toLowerCase())
    this.#starts = new Uint32Array(size + 1)
    for (let at = 0, start = 0; at < size; at++) {
      this.#starts[at] = start
      start += this.#children[at] ?? 0
      this.#starts[at + 1] = start
    }
    const next = this.#starts.slice()
    this.#order = new Uint32Array(this.#starts[size] ?? 0)
    for (let at = 0; at < size; at++) {
      const parent = parents[at] ?? NONE
      if (kept[at] !== 1 || parent === NONE) continue
      const place = next[parent] ?? 0
      this.#order[place] = at
      next[parent] = place + 1
    }
    this.#sorted = new Uint8Array(size)
  }

  /** Bytes that it holds, without the names of its rows. */
  get bytes(): number {
    return 29 * this.#parents.length
  }

  /** The lanes directly below one; `undefined`: the namespaces. `total`: of all pages. None, if there is no such lane. */
  page(
    parent: string | undefined,
    { offset, limit }: { readonly offset: number; readonly limit: number },
  ): { readonly total: number; readonly lanes: ReadonlyArray<Lane> } {
    const below = parent === undefined ? this.#keptNamespaces() : this.#below(this.#indexOf(parent))
    const lanes = Array.from(below.slice(offset, offset + limit), (index) => this.#lane(index))
    return { total: below.length, lanes }
  }

  /** `undefined`: there is none. */
  lane(id: string): PlacedLane | undefined {
    return this.#placed(this.#indexOf(id))
  }

  /** The lane of an object by what is known of it; of several of the same name, the last row. */
  laneOf({ gvk, namespace, name, uid }: Partial<LaneObject>): PlacedLane | undefined {
    const { namespaces } = this.#rows
    for (let at = this.#rows.count - 1; at >= 0; at--) {
      if (namespace !== undefined && namespaces[this.#rows.namespaceAt(at)] !== namespace) continue
      if (name !== undefined && this.#rows.nameAt(at) !== name) continue
      const found = this.#rows.objectAt(at)
      if ((uid ?? found.uid) === found.uid && (gvk ?? found.gvk) === found.gvk) return this.#placed(at)
    }
    return undefined
  }

  #placed(index: number): PlacedLane | undefined {
    if (index < 0 || !this.#isKept(index)) return undefined
    const above: string[] = []
    for (let at = this.#parents[index] ?? NONE; at !== NONE; at = this.#parents[at] ?? NONE) above.push(this.#idOf(at))
    return { lane: this.#lane(index), above: above.reverse() }
  }

  #isKept(index: number): boolean {
    const parent = this.#parents[index] ?? NONE
    if (parent === NONE) return (this.#objects[index] ?? 0) > 0
    return this.#order.subarray(this.#starts[parent], this.#starts[parent + 1]).includes(index)
  }

  #ownerAt(index: number): OwnerRow | undefined {
    return this.#ownersInOrder[index - this.#rows.count]
  }

  #namespaceAt(index: number): string {
    return this.#namespaces[index - this.#rows.count - this.#owners.size] ?? ""
  }

  #idOf(index: number): string {
    return this.#lane(index).id
  }

  #lane(index: number): Lane {
    const counts = { children: this.#children[index] ?? 0, objects: this.#objects[index] ?? 0 }
    if (index < this.#rows.count) {
      const { id, gvk, namespace, name, uid } = this.#rows.objectAt(index)
      return { id, type: "object", object: { gvk, namespace, name, uid }, ...counts }
    }
    const owner = this.#ownerAt(index)
    if (owner !== undefined) {
      const { id, gvk, name, uid } = owner
      const namespace = this.#rows.namespaces[owner.namespace] ?? ""
      return { id, type: "owner", object: { gvk, namespace, name, uid }, ...counts }
    }
    const name = this.#namespaceAt(index)
    const object = { gvk: "", namespace: "", name, uid: "" }
    return { id: `${namespacePrefix}${name}`, type: "namespace", object, ...counts }
  }

  #indexOf(id: string): number {
    if (id.startsWith(ownerPrefix)) return this.#owners.get(id)?.place ?? NONE
    if (!id.startsWith(namespacePrefix)) return this.#rows.indexOf(id)
    const place = this.#namespaces.indexOf(id.slice(namespacePrefix.length))
    return place < 0 ? NONE : this.#rows.count + this.#owners.size + place
  }

  #keptNamespaces(): Uint32Array {
    const first = this.#rows.count + this.#owners.size
    return Uint32Array.from(this.#namespaces.keys(), (at) => first + at).filter(
      (index) => (this.#objects[index] ?? 0) > 0,
    )
  }

  #below(index: number): Uint32Array {
    if (index < 0) return new Uint32Array(0)
    const below = this.#order.subarray(this.#starts[index], this.#starts[index + 1])
    if (this.#sorted[index] === 1) return below
    this.#sorted[index] = 1
    const named = Array.from(below, (at) => {
      const { gvk, name } = this.#lane(at).object
      return { at, kind: gvk.slice(gvk.lastIndexOf(".") + 1), name }
    })
    named.sort((one, other) => compare(one.kind, other.kind) || compare(one.name, other.name) || one.at - other.at)
    for (const [place, { at }] of named.entries()) below[place] = at
    return below
  }

  /** Counts from below; returns 1 for each that is kept. */
  #count(downwards: Uint32Array, find: string): Uint8Array {
    const kept = new Uint8Array(this.#parents.length)
    for (let place = downwards.length - 1; place >= 0; place--) {
      const at = downwards[place] ?? 0
      const isObject = at < this.#rows.count
      if (isObject && (find === "" || this.#rows.nameAt(at).toLowerCase().includes(find))) kept[at] = 1
      if (kept[at] !== 1) continue
      const parent = this.#parents[at] ?? NONE
      if (parent === NONE) continue
      kept[parent] = 1
      this.#children[parent] = (this.#children[parent] ?? 0) + 1
      this.#objects[parent] = (this.#objects[parent] ?? 0) + (this.#objects[at] ?? 0) + (isObject ? 1 : 0)
    }
    return kept
  }
}

/** As texts compare that are in no language: the same everywhere. */
const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

/** What is directly above each. */
const parentsOf = (rows: LaneRows) => {
  const { count, ownerSets } = rows
  const owners = new Map<string, OwnerRow>()
  /** By the number of a set, the rows of its owners; −1 for those that have none. */
  const known = new Map<number, ReadonlyArray<number>>()
  const rowsOfSet = (set: number): ReadonlyArray<number> => {
    const found = known.get(set) ?? ownerSets[set]?.map(({ uid }) => (uid === "" ? NONE : rows.indexOfUid(uid))) ?? []
    known.set(set, found)
    return found
  }
  const nameOnly = ({ gvk, name, uid }: LaneOwner, namespace: number): number => {
    const id = `${ownerPrefix}${rows.namespaces[namespace]}/${uid}`
    const row = owners.get(id) ?? { id, gvk, name, uid, namespace, place: count + owners.size }
    owners.set(id, row)
    return row.place
  }
  const owning = new Int32Array(count).fill(NONE)
  const used = new Uint8Array(rows.namespaces.length)
  for (let at = 0; at < count; at++) {
    const [namespace, set] = [rows.namespaceAt(at), rows.ownersAt(at)]
    used[namespace] = 1
    if (set === 0) continue
    const above = rowsOfSet(set)
    const found = above.find((row) => row !== NONE && row !== at && rows.namespaceAt(row) === namespace)
    const missing = ownerSets[set]?.find(({ uid }, place) => uid !== "" && above[place] === NONE)
    owning[at] = found ?? (missing === undefined ? NONE : nameOnly(missing, namespace))
  }
  const first = count + owners.size
  const numbers = [...used.keys()].filter((number) => used[number] === 1)
  numbers.sort((one, other) => compare(rows.namespaces[one] ?? "", rows.namespaces[other] ?? ""))
  const placeOf = new Int32Array(rows.namespaces.length)
  for (const [place, number] of numbers.entries()) placeOf[number] = first + place
  const named = [...owners.values()]
  const namespaceOf = (at: number): number =>
    placeOf[at < count ? rows.namespaceAt(at) : (named[at - count]?.namespace ?? 0)] ?? NONE
  const parents = new Int32Array(first + numbers.length).fill(NONE)
  for (let at = 0; at < first; at++) {
    const above = at < count ? (owning[at] ?? 0) : NONE
    parents[at] = above === NONE ? namespaceOf(at) : above
  }
  return { owners, namespaces: numbers.map((number) => rows.namespaces[number] ?? ""), parents, namespaceOf }
}

/** Puts one object of each circle directly below its namespace, and returns all, each after what is above it. `count`: of those that are no namespaces. */
const cutCircles = (parents: Int32Array, count: number, namespaceOf: (index: number) => number): Uint32Array => {
  const [unseen, onPath, done] = [0, 1, 2]
  const states = new Uint8Array(parents.length).fill(unseen)
  const downwards = new Uint32Array(parents.length)
  let placed = 0
  for (let at = count; at < parents.length; at++) {
    states[at] = done
    downwards[placed++] = at
  }
  const path: number[] = []
  for (let start = 0; start < count; start++) {
    let at = start
    while (states[at] === unseen) {
      states[at] = onPath
      path.push(at)
      at = parents[at] ?? NONE
    }
    const top = path.at(-1)
    if (top !== undefined && states[at] === onPath) parents[top] = namespaceOf(top)
    for (let above = path.pop(); above !== undefined; above = path.pop()) {
      states[above] = done
      downwards[placed++] = above
    }
  }
  return downwards
}
