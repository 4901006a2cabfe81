/**
 * Circles of owners: objects each of which is above itself. The API server does not prevent them, but unless something outside owns them,
 * no controller would recreate them: so an owner is always judged together with its whole circle.
 *
 * Tarjan's algorithm, without recursion, over the owners asked about so far: each is visited once, whatever the order of calls, and a call
 * for a visited owner costs one map look-up. Memory: one small entry per owner. Not usable any more once `above` or `isMember` has thrown.
 */

/** Owners that are all above each other; usually a single one. */
interface OwnerCircle {
  /** Whether one of its owners is a member. */
  readonly holdsMember: boolean
  /** Whether a member is above it, outside of it. */
  readonly isBelowMember: boolean
}

interface OwnerGraph<Owner> {
  readonly keyOf: (owner: Owner) => string
  /** The direct owners. Called once per owner, as is `isMember`. */
  readonly above: (owner: Owner) => ReadonlyArray<Owner>
  readonly isMember: (owner: Owner) => boolean
}

interface Node<Owner> {
  readonly owner: Owner
  readonly above: ReadonlyArray<Owner>
  /** How many of `above` have been visited. */
  looked: number
  readonly number: number
  /** The lowest number among the owners on the path that are above this one. */
  lowest: number
  circle: OwnerCircle | undefined
}

export class OwnerCircles<Owner> {
  readonly #graph: OwnerGraph<Owner>
  readonly #nodes = new Map<string, Node<Owner>>()

  constructor(graph: OwnerGraph<Owner>) {
    this.#graph = graph
  }

  /** The circle of an owner that was asked about, or that is above such an owner; `undefined` for any other. */
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

  /** Completes a circle; everything above its owners outside of it is already complete. */
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
