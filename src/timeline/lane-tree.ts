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

/** A lane with the ids of those above it, outermost first. */
interface PlacedLane {
  readonly lane: Lane
  readonly above: ReadonlyArray<string>
}

const namespaceId = (name: string): string => `namespace/${name}`

/** `parent` of a namespace. */
const NONE = -1

/** Memory: the rows that it is given, and 25 bytes each. */
export class LaneTree {
  /** Objects, then owners that are only names, then namespaces. */
  readonly #rows: ReadonlyArray<LaneRow>
  readonly #owners: ReadonlyArray<LaneRow>
  readonly #namespaces: ReadonlyArray<string>
  readonly #parents: Int32Array
  /** Objects below each, of those that are kept. */
  readonly #objects: Uint32Array
  readonly #children: Uint32Array
  /** All that are kept, siblings next to each other; those of one begin at its place in `#starts`. */
  readonly #order: Uint32Array
  readonly #starts: Uint32Array
  readonly #sorted: Uint8Array
  #byId: Map<string, number> | undefined

  /** `find`: a part of a name in any case; only objects that have it are kept, with what is above them. */
  constructor(rows: ReadonlyArray<LaneRow>, find = "") {
    const { owners, namespaces, parents, namespaceOf } = parentsOf(rows)
    this.#rows = rows
    this.#owners = owners
    this.#namespaces = namespaces
    this.#parents = parents
    const size = parents.length
    const downwards = cutCircles(parents, rows.length + owners.length, namespaceOf)
    this.#objects = new Uint32Array(size)
    this.#children = new Uint32Array(size)
    const kept = this.#count(downwards, find.toLowerCase())
    this.#starts = new Uint32Array(size + 1)
    for (let at = 0, start = 0; at < size; at++) {
      this.#starts[at] = start
      start += this.#children[at] as number
      this.#starts[at + 1] = start
    }
    const next = this.#starts.slice()
    this.#order = new Uint32Array(this.#starts[size] as number)
    for (let at = 0; at < size; at++) {
      const parent = parents[at] as number
      if (kept[at] !== 1 || parent === NONE) continue
      const place = next[parent] as number
      this.#order[place] = at
      next[parent] = place + 1
    }
    this.#sorted = new Uint8Array(size)
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
  laneOf(object: Partial<LaneObject>): PlacedLane | undefined {
    const { gvk, namespace, name, uid } = object
    const is = (asked: string | undefined, found: string): boolean => asked === undefined || asked === found
    return this.#placed(
      this.#rows.findLastIndex(
        (row) => is(uid, row.uid) && is(name, row.name) && is(namespace, row.namespace) && is(gvk, row.gvk),
      ),
    )
  }

  #placed(index: number): PlacedLane | undefined {
    if (index < 0 || !this.#isKept(index)) return undefined
    const above: string[] = []
    for (let at = this.#parents[index] as number; at !== NONE; at = this.#parents[at] as number)
      above.push(this.#idOf(at))
    return { lane: this.#lane(index), above: above.reverse() }
  }

  #isKept(index: number): boolean {
    const parent = this.#parents[index] as number
    if (parent === NONE) return (this.#objects[index] as number) > 0
    return this.#order.subarray(this.#starts[parent], this.#starts[parent + 1]).includes(index)
  }

  #rowAt(index: number): LaneRow | undefined {
    return this.#rows[index] ?? this.#owners[index - this.#rows.length]
  }

  #namespaceAt(index: number): string {
    return this.#namespaces[index - this.#rows.length - this.#owners.length] ?? ""
  }

  #idOf(index: number): string {
    return this.#rowAt(index)?.id ?? namespaceId(this.#namespaceAt(index))
  }

  #lane(index: number): Lane {
    const counts = { children: this.#children[index] as number, objects: this.#objects[index] as number }
    const row = this.#rowAt(index)
    if (row === undefined) {
      const name = this.#namespaceAt(index)
      return { id: namespaceId(name), type: "namespace", object: { gvk: "", namespace: "", name, uid: "" }, ...counts }
    }
    const { id, gvk, namespace, name, uid } = row
    const type = index < this.#rows.length ? "object" : "owner"
    return { id, type, object: { gvk, namespace, name, uid }, ...counts }
  }

  #indexOf(id: string): number {
    if (this.#byId === undefined) {
      this.#byId = new Map()
      for (let at = 0; at < this.#parents.length; at++) this.#byId.set(this.#idOf(at), at)
    }
    return this.#byId.get(id) ?? -1
  }

  #keptNamespaces(): Uint32Array {
    const first = this.#rows.length + this.#owners.length
    return Uint32Array.from(this.#namespaces.keys(), (at) => first + at).filter(
      (index) => (this.#objects[index] as number) > 0,
    )
  }

  #below(index: number): Uint32Array {
    if (index < 0) return new Uint32Array(0)
    const below = this.#order.subarray(this.#starts[index], this.#starts[index + 1])
    if (this.#sorted[index] === 1) return below
    this.#sorted[index] = 1
    const named = Array.from(below, (at) => {
      const row = this.#rowAt(at)
      return { at, kind: row?.gvk.slice(row.gvk.lastIndexOf(".") + 1) ?? "", name: row?.name ?? "" }
    })
    named.sort((one, other) => compare(one.kind, other.kind) || compare(one.name, other.name) || one.at - other.at)
    for (const [place, { at }] of named.entries()) below[place] = at
    return below
  }

  /** Counts from below; returns 1 for each that is kept. */
  #count(downwards: Uint32Array, find: string): Uint8Array {
    const kept = new Uint8Array(this.#parents.length)
    for (let place = downwards.length - 1; place >= 0; place--) {
      const at = downwards[place] as number
      const isObject = at < this.#rows.length
      if (isObject && (find === "" || (this.#rows[at]?.name.toLowerCase().includes(find) ?? false))) kept[at] = 1
      if (kept[at] !== 1) continue
      const parent = this.#parents[at] as number
      if (parent === NONE) continue
      kept[parent] = 1
      this.#children[parent] = (this.#children[parent] as number) + 1
      this.#objects[parent] = (this.#objects[parent] as number) + (this.#objects[at] as number) + (isObject ? 1 : 0)
    }
    return kept
  }
}

/** As texts compare that are in no language: the same everywhere. */
const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

/** What is directly above each. */
const parentsOf = (rows: ReadonlyArray<LaneRow>) => {
  const byUid = new Map<string, number>()
  for (let at = 0; at < rows.length; at++) {
    const { uid } = rows[at] as LaneRow
    if (uid !== "" && !byUid.has(uid)) byUid.set(uid, at)
  }
  const owners: LaneRow[] = []
  const named = new Map<string, number>()
  const ownerOf = ({ namespace, owners: given }: LaneRow, at: number): number | undefined => {
    for (const { uid } of given) {
      const found = byUid.get(uid)
      if (found !== undefined && found !== at && rows[found]?.namespace === namespace) return found
    }
    const [owner] = given.filter(({ uid }) => uid !== "" && !byUid.has(uid))
    if (owner === undefined) return undefined
    const id = `owner/${namespace}/${owner.uid}`
    const index = named.get(id) ?? rows.length + owners.push({ ...owner, id, namespace, owners: [] }) - 1
    named.set(id, index)
    return index
  }
  const owning = new Int32Array(rows.length).fill(NONE)
  const names = new Set<string>()
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at] as LaneRow
    names.add(row.namespace)
    if (row.owners.length > 0) owning[at] = ownerOf(row, at) ?? NONE
  }
  const namespaces = [...names].sort(compare)
  const first = rows.length + owners.length
  const placeOf = new Map(namespaces.map((name, at) => [name, first + at]))
  const namespaceOf = (at: number): number =>
    placeOf.get((rows[at] ?? owners[at - rows.length])?.namespace ?? "") ?? NONE
  const parents = new Int32Array(first + namespaces.length).fill(NONE)
  for (let at = 0; at < first; at++) {
    const above = at < rows.length ? (owning[at] as number) : NONE
    parents[at] = above === NONE ? namespaceOf(at) : above
  }
  return { owners, namespaces, parents, namespaceOf }
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
      at = parents[at] as number
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
