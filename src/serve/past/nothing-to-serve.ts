/** A source was named that has no past to serve. */
import * as Schema from "effect/Schema"

export class NothingToServe extends Schema.TaggedError<NothingToServe>()("NothingToServe", {
  /** Directory or trace, as it was named. */
  source: Schema.String,
  reason: Schema.String,
}) {
  override get message(): string {
    return `cannot serve ${this.source}: ${this.reason}`
  }
}
