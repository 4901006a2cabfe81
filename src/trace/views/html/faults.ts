/**
 * What went wrong, in one list: each fault once for each owner, with how often, when, and whether it still is so at the end. A reader at three in
 * the morning looks for nothing else first.
 *
 * Memory: {@link MOST_FAULTS}.
 */

/** Faults that are listed. */
const MOST_FAULTS = 100

/** One fault of one object. Times are µs since the Unix epoch. */
export interface ObjectFault {
  /** `container main: Terminated: OOMKilled (137)`. */
  readonly what: string
  /** What Kubernetes said the last time, if it said anything. */
  message: string | undefined
  readonly first: number
  last: number
  /** How often. */
  count: number
}

/** One fault of all that one owner owns. */
export interface Fault {
  readonly namespace: string
  /** The object at the top of the owner chain: `Deployment/web`. */
  readonly root: string
  readonly what: string
  message: string | undefined
  first: number
  last: number
  count: number
  /** Of how many objects. */
  objects: number
  /** Objects of which it is so at the end of the trace. */
  lasting: number
}

/** The faults of one trace. */
export class Faults {
  readonly #faults = new Map<string, Fault>()
  #left = 0

  /** How many faults of single objects had no room in the list. */
  get left(): number {
    return this.#left
  }

  /** Adds what one object had. `isLasting`: it has it at the end of the trace. */
  add(namespace: string, root: string, { what, message, first, last, count }: ObjectFault, isLasting: boolean): void {
    const key = JSON.stringify([namespace, root, what])
    let fault = this.#faults.get(key)
    if (fault === undefined) {
      if (this.#faults.size >= MOST_FAULTS) {
        this.#left++
        return
      }
      fault = { namespace, root, what, message, first, last, count: 0, objects: 0, lasting: 0 }
      this.#faults.set(key, fault)
    }
    if (message !== undefined && (fault.message === undefined || last >= fault.last)) fault.message = message
    fault.first = Math.min(fault.first, first)
    fault.last = Math.max(fault.last, last)
    fault.count += count
    fault.objects++
    if (isLasting) fault.lasting++
  }

  /** In the order in which they began: what broke first is often the cause of the rest. */
  inOrder(): ReadonlyArray<Fault> {
    return [...this.#faults.values()].sort((one, other) => one.first - other.first)
  }
}
