/**
 * What is left of a guest that is not running: its memory, its mutable globals, and what the host knows about its operations. An instance
 * that begins with an image continues as if it had never stopped.
 */

/** What a guest waits for: the next value of a watch, the response to a request, the end of a delay. */
export type OperationKind = "watch" | "request" | "delay"

/** Plain data, for the thread that made it: another one has another monotonic clock. */
export interface GuestImage {
  /** {@link CompiledGuest.hash} of the module. */
  readonly moduleHash: string
  /** The id of the guest's next operation. */
  readonly nextId: bigint
  /** Operations that have not ended. */
  readonly operations: ReadonlyMap<bigint, OperationKind>
  /** The values of {@link CompiledGuest.globals}, in that order. */
  readonly globals: ReadonlyArray<{
    readonly type: "i32" | "i64" | "f32" | "f64"
    readonly value: number | bigint
  }>
  /** Whole pages of 64 KiB. */
  readonly memory: Uint8Array
}
