/** Why a rehearsal cannot take place, or is given up. */
import * as Schema from "effect/Schema"

/** A controller is for a kind that the trace does not have. */
export class KindNotInTrace extends Schema.TaggedError<KindNotInTrace>()("KindNotInTrace", {
  controller: Schema.String,
  /** `apps/v1.Deployment`. */
  kind: Schema.String,
  /** What the trace has. */
  kinds: Schema.Array(Schema.String),
}) {
  override get message(): string {
    const has = this.kinds.length === 0 ? "no objects" : this.kinds.join(", ")
    return `the controller ${this.controller} is for ${this.kind}, of which the trace has nothing: it has ${has}. Record that kind too, or give its objects to replayInto as seed`
  }
}

/** Something goes on without end while the clock of the rehearsal stands still. */
export class RehearsalStalled extends Schema.TaggedError<RehearsalStalled>()("RehearsalStalled", {
  /** µs since the Unix epoch: where the rehearsal stands. */
  time: Schema.Number,
  /** ms of real time that have passed. */
  waitedMs: Schema.Number,
  /** What is not finished: `simplepod shop/web`. */
  busy: Schema.Array(Schema.String),
}) {
  override get message(): string {
    const at = new Date(this.time / 1000).toISOString()
    return `the rehearsal has stood at ${at} for ${this.waitedMs / 1000} s of real time: ${this.busy.join(", ")} do not come to rest. A run waits for something outside of the sandbox, or wakes itself again and again`
  }
}
