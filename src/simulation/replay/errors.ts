/** Why a replay cannot start, or ends before the end of its trace. */
import * as Schema from "effect/Schema"

/** A replay of that name exists in the target. */
export class ReplayExists extends Schema.TaggedError<ReplayExists>()("ReplayExists", {
  replay: Schema.String,
}) {
  override get message(): string {
    return `the target has a replay named ${this.replay}: another one is running under that name, or was not cleaned up. Choose another --name, or remove it with reel replay --clean ${this.replay}`
  }
}

/** The target did not accept the first object, the namespace to which all others belong. */
export class TargetUnusable extends Schema.TaggedError<TargetUnusable>()("TargetUnusable", {
  detail: Schema.String,
  /** Whether a permission is missing. */
  isForbidden: Schema.Boolean,
}) {
  override get message(): string {
    return `cannot replay into this cluster: ${this.detail}`
  }
}

const instant = (micros: number): string => new Date(micros / 1000).toISOString()

/** What was requested is before or after the trace. */
export class OutsideTrace extends Schema.TaggedError<OutsideTrace>()("OutsideTrace", {
  /** µs since the Unix epoch. */
  start: Schema.Number,
  end: Schema.Number,
}) {
  override get message(): string {
    return `the trace is from ${instant(this.start)} to ${instant(this.end)}; --from and --to must overlap it`
  }
}

export type ReplayError = ReplayExists | TargetUnusable | OutsideTrace
