/**
 * The moment at which a change was sent, as the subjects of scenario *host* find it in an object, and what they say about it.
 *
 * An object without the annotation is no change. A stamp that begins with `0` is a mark: the subject tells what it has measured since the
 * last one.
 */
import { wallMicros } from "./wall-clock.ts"

export const changeAnnotation = "bench/at"

/** What a subject tells at a mark: for one kind, or for several together, of one controller. */
export interface Measured {
  /** Pairs: µs from sending to the entry, and how many changes took that long. */
  readonly latencies: ReadonlyArray<readonly [micros: number, changes: number]>
}

/** Notes when changes arrived, for one controller in TypeScript. */
export class ChangeTally {
  readonly #tell: (measured: Measured) => void
  #latencies: Array<readonly [number, number]> = []

  constructor(tell: (measured: Measured) => void) {
    this.#tell = tell
  }

  /** Call it first of all when the controller is entered for a changed object. */
  entered(object: {
    readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> | undefined }
  }): void {
    const stamp = object.metadata?.annotations?.[changeAnnotation]
    if (stamp === undefined) return
    if (!stamp.startsWith("0")) {
      this.#latencies.push([wallMicros() - Number(stamp), 1])
      return
    }
    const latencies = this.#latencies
    this.#latencies = []
    this.#tell({ latencies })
  }
}
