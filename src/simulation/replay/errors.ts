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
  /** Whether the target does not accept the credentials; `detail` is then its reason alone. */
  isUnauthorized: Schema.Boolean,
}) {
  override get message(): string {
    return `cannot replay into this cluster: ${this.detail}`
  }
}

/** The target is the cluster whose trace it is. */
export class RecordedCluster extends Schema.TaggedError<RecordedCluster>()("RecordedCluster", {
  /** UID of namespace kube-system. */
  clusterUid: Schema.String,
}) {
  override get message(): string {
    return "the trace was recorded in this very cluster; name another one, or add --into-recorded-cluster if that is what you want"
  }
}

/** Most sentences that a message has; a dry run has all. */
const mostTold = 5

/** Known before anything was created: the target will refuse changes of the trace. */
export class TargetLacks extends Schema.TaggedError<TargetLacks>()("TargetLacks", {
  /** One sentence each: kinds that it does not serve, names that it cannot have, … */
  refused: Schema.Array(Schema.String),
  /** The same for permissions. */
  forbidden: Schema.Array(Schema.String),
}) {
  override get message(): string {
    const all = [...this.refused, ...this.forbidden]
    const more = all.length > mostTold ? `; and ${all.length - mostTold} more, see --dry-run` : ""
    return `the cluster cannot take this trace: ${all.slice(0, mostTold).join("; ")}${more}. Nothing was created. --partial replays what it can take`
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
