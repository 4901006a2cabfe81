import * as Schema from "effect/Schema"

/** The program cannot be carried out on this trace. */
export class TransformFailed extends Schema.TaggedError<TransformFailed>()("TransformFailed", {
  /** In the program's text; absent: no command is at fault. */
  at: Schema.optional(Schema.Int),
  /** As in messages: `apps/v1.Deployment shop/web at 2026-11-27T03:12:00.000Z`; empty: it is not about an object. */
  subject: Schema.String,
  detail: Schema.String,
}) {
  override get message(): string {
    return this.subject === "" ? this.detail : `${this.subject}: ${this.detail}`
  }
}
