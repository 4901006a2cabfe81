/** What a guest is given: who serves it, its environment, time and randomness, and its limits. */
import type { Clock } from "../../clock.ts"
import type { GuestImage } from "./guest-image.ts"
import type { GuestLimits, OperationHost } from "./guest-operations.ts"
import type { GuestStream } from "./wasi/guest-log.ts"

/**
 * What a guest asks for. Operations are passed on in their order when the guest has returned from the call in which it asked, so they run on a
 * stack that the guest has not exhausted; if it trapped in that call, none of them is. Log lines are passed on while the guest runs, so that
 * one that never returns can be understood; a guest that exhausts its stack may interrupt `log` anywhere.
 */
export interface GuestHost extends OperationHost {
  /** @param line without its end, at most 8 KiB. */
  log(stream: GuestStream, line: string): void
}

/** Of one instance. */
export interface GuestOptions {
  readonly host: GuestHost
  /** For messages, and the guest's first argument. Default: the name with which it was compiled. */
  readonly name?: string
  /** Environment variables in order. Default: none. */
  readonly env?: ReadonlyArray<{ readonly name: string; readonly value: string }>
  readonly clock: Pick<Clock, "wallMicros" | "monotonicMs">
  /** Fills the bytes with random ones; they may be as many as the guest's memory has. */
  readonly random: (bytes: Uint8Array) => void
  /** The guest's linear memory; pages of 64 KiB that do not fit completely do not count. A guest that wants more gets none, and usually traps. */
  readonly maximumMemoryBytes: number
  readonly limits?: Partial<GuestLimits>
  /** Continue from there, instead of starting. */
  readonly image?: GuestImage
}
