/** Changes that were received later than they happened, as actors tell of them; the fields are those of `LateChanges` in trace/event.ts. */
import * as Schema from "effect/Schema"

export const LateChanges = Schema.Struct({
  gvk: Schema.String,
  namespace: Schema.String,
  notBefore: Schema.Number,
  notAfter: Schema.Number,
  receivedFrom: Schema.Number,
  receivedTo: Schema.Number,
  events: Schema.Number,
  cause: Schema.Literals(["stopped", "disconnected", "delayed"]),
})

/** Which times a window has: when changes happened, or when they were received. */
export const EventTimes = Schema.Literals(["happened", "received"])
