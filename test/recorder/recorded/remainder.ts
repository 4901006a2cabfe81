/** What retention has kept of a recording, and the comparison of it with the server's ledger. */
import { ArchiveReader } from "../../../src/archive/index.ts"
import type { TraceEvent } from "../../../src/trace/index.ts"
import type { Change } from "./recorded-sandbox.ts"

/** By UID, the version of each object that exists. */
export type State = ReadonlyMap<string, string>

/** The state after all of these changes. */
export const stateAfter = (changes: ReadonlyArray<Change>): State => {
  const alive = new Map<string, string>()
  for (const { uid, action, resourceVersion } of changes)
    if (action === "applied") alive.set(uid, resourceVersion)
    else alive.delete(uid)
  return alive
}

/** An open recording; times are when changes were received, µs since the Unix epoch. */
export class Remainder implements Disposable {
  readonly #reader: ArchiveReader

  constructor(directory: string) {
    this.#reader = ArchiveReader.open(directory)
  }

  /** The first moment that is kept of a kind; 1 if nothing was removed. */
  beginning(gvk: string): number {
    return (this.#reader.kinds().find((kind) => kind.gvk === gvk)?.removedThrough ?? 0) + 1
  }

  /** The changes from a moment on, by version; a gap is an error. */
  changes(gvk: string, fromTime = this.beginning(gvk)): ReadonlyArray<Change & { readonly received: number }> {
    return Array.from(this.#reader.events({ fromTime, times: "received", kinds: [gvk] }), (event: TraceEvent) => {
      if (event.type === "gap") throw new Error(`a gap: ${JSON.stringify(event)}`)
      const { uid, resourceVersion, action, name, time } = event
      if (action !== "applied" && action !== "deleted") throw new Error(`${action}: ${name}`)
      return { gvk, uid, resourceVersion, action, name, received: time }
    })
  }

  /** The state just before a moment. */
  stateBefore(gvk: string, time: number): State {
    const events = Array.from(this.#reader.snapshotAt({ time, times: "received", kinds: [gvk] }))
    return new Map(events.map(({ uid, resourceVersion }) => [uid, resourceVersion]))
  }

  [Symbol.dispose](): void {
    this.#reader.close()
  }
}
