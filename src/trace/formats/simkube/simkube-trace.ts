/**
 * SimKube's trace format, version 2 (docs/facts/simkube.md#trace-file): its contents, and the errors of reading and writing it. The
 * streaming writer is `simkube-trace-writer.ts`, the streaming reader `simkube-trace-reader.ts`.
 *
 * The format cannot represent times below a second (order inside a second is kept, as several events of equal time), UIDs and resource
 * versions, gaps, and a deleted object's last state.
 */

import * as Schema from "effect/Schema"
import { namespacedName } from "../../trace-item.ts"

export { namespacedName, type OwnedLifecycles, type PodLifecycle } from "../../trace-item.ts"

/** The only version that SimKube ≥ 2.0 reads. */
export const SIMKUBE_TRACE_VERSION = 2

/** The bytes are not a readable trace. */
export class SimkubeTraceError extends Schema.TaggedError<SimkubeTraceError>()("SimkubeTraceError", {
  /**
   * - `truncated`: the file ends too early
   * - `malformed`: not MessagePack, or without the structure of a trace
   * - `version`: a trace of another version
   */
  reason: Schema.Literals(["truncated", "malformed", "version"]),
  /** Byte of the file. */
  offset: Schema.Int,
  detail: Schema.String,
}) {
  override get message(): string {
    return `${this.reason} SimKube trace at byte ${this.offset}: ${this.detail}`
  }
}

/** One change cannot be written; the writer is unchanged, and the caller may continue without the change. */
export class UnwritableChangeError extends Schema.TaggedError<UnwritableChangeError>()("UnwritableChangeError", {
  gvk: Schema.String,
  namespace: Schema.String,
  name: Schema.String,
  detail: Schema.String,
}) {
  override get message(): string {
    return `${this.gvk} ${namespacedName(this.namespace, this.name)} cannot be written: ${this.detail}`
  }
}
