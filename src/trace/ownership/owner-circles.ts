/**
 * Circles of owners: objects each of which is above itself. The API server does not prevent them, and nobody outside makes them, so
 * nobody would make them again: what holds of an owner holds of its circle as a whole.
 *
 * Tarjan's algorithm, without recursion, over what has been asked for so far: each owner is looked at once, whatever the order of
 * questions, and a question about an owner that was met before costs a look-up in a map. Memory: one small entry per owner. Not to be
 * asked again once `above` or `isMember` has thrown.
 */

/** Owners that are all above each other; mostly one alone. */
interface OwnerCircle {
  /** Whether one of its owners is a member. */
  readonly holdsMember: boolean
  /** Whether a member stands above it, outside of it. */
  readonly isBelowMember: boolean
}

interface OwnerGraph<Owner> {
  readonly keyOf: (owner: Owner) => string
  /** The owners right above. Asked once per owner, as is `isMember`. */
  readonly above: (owner: Owner) => ReadonlyArray<Owner>
  readonly isMember: (owner: Owner) => boolean
}

interface Node<Owner> {
  readonly owner: Owner
  readonly above: ReadonlyArray<Owner>
  /** How many of `above` have been looked at. */
  looked: number
  readonly number: number
  /** The lowest number of an owner on the path that is above this one. */
  lowest: number
  circle: OwnerCircle | undefined
}

export class OwnerCircles<Owner> {
  readonly #graph: OwnerGraph<Owner>
  readonly #nodes = new Map<string, Node<Owner>>()

  constructor(graph: OwnerGraph<Owner>) {
    this.#graph = graph
  }

  /** The circle of an owner that somebody has asked about, or that stands above one; `undefined` for any other. */
  known(key: string): OwnerCircle | undefined {
    return this.#nodes.get(key)?.circle
  }

  of(owner: Owner): OwnerCircle {
    const key = this.#graph.keyOf(owner)
    const found = this.known(key)
    if (found !== undefined) return found
    const start = this.#enter(owner, key)
    const path = [start]
    /** Owners whose circles are not complete yet. */
    const open = [start]
    for (let node = path.at(-1); node !== undefined; node = path.at(-1)) {
      const next = node.above[node.looked++]
      if (next === undefined) {
        path.pop()
        const below = path.at(-1)
        if (below !== undefined) below.lowest = Math.min(below.lowest, node.lowest)
        if (node.lowest === node.number) this.#close(open.splice(open.lastIndexOf(node)))
        continue
      }
      const nextKey = this.#graph.keyOf(next)
      const known = this.#nodes.get(nextKey)
      if (known === undefined) {
        const entered = this.#enter(next, nextKey)
        path.push(entered)
        open.push(entered)
      } else if (known.circle === undefined) node.lowest = Math.min(node.lowest, known.number)
    }
    return start.circle as OwnerCircle
  }

  #enter(owner: Owner, key: string): Node<Owner> {
    const number = this.#nodes.size
    const above = this.#graph.above(owner)
    const node: Node<Owner> = { owner, above, looked: 0, number, lowest: number, circle: undefined }
    this.#nodes.set(key, node)
    return node
  }

  /** All that stands above these outside of their circle is complete. */
  #close(nodes: ReadonlyArray<Node<Owner>>): void {
    let [holdsMember, isBelowMember] = [false, false]
    for (const { owner, above } of nodes) {
      holdsMember ||= this.#graph.isMember(owner)
      for (const each of above) {
        const outside = this.known(this.#graph.keyOf(each))
        if (outside !== undefined) isBelowMember ||= outside.holdsMember || outside.isBelowMember
      }
    }
    const circle = { holdsMember, isBelowMember }
    for (const node of nodes) node.circle = circle
  }
}
