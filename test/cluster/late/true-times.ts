/** The truth about times that a recorder estimates: each change with the moment at which it happened. */

/** A change, as an observer that misses nothing saw it. */
export interface TrueChange {
  readonly gvk: string
  readonly uid: string
  readonly version: string
  readonly type: "ADDED" | "MODIFIED" | "DELETED"
  /** µs since the Unix epoch. */
  readonly micros: number
}

export class TrueTimes {
  readonly #changes = new Map<string, TrueChange>()

  /** The first time counts. */
  add(change: TrueChange): void {
    const name = nameOf(change.uid, change.version)
    if (!this.#changes.has(name)) this.#changes.set(name, change)
  }

  of(uid: string, version: string): TrueChange | undefined {
    return this.#changes.get(nameOf(uid, version))
  }
}

const nameOf = (uid: string, version: string): string => `${uid} ${version}`
