/** Pins as actors tell of them; the fields are those of `Pin` and `PinRequest` in the archive, times µs since the Unix epoch. */
import * as Schema from "effect/Schema"
import { pinPlaces, pinSources } from "../archive/index.ts"

export const PinFields = Schema.Struct({
  ...{ id: Schema.String, from: Schema.Number, until: Schema.Number, note: Schema.String },
  ...{ source: Schema.Literals(pinSources), labels: Schema.Record(Schema.String, Schema.String) },
  ...{ createdMicros: Schema.Number, place: Schema.Literals(pinPlaces), bytes: Schema.Number },
  ...{ lostThrough: Schema.optionalKey(Schema.Number), exported: Schema.optionalKey(Schema.Number) },
})

export const PinRequestFields = Schema.Struct({
  ...{ from: Schema.Number, until: Schema.Number, source: Schema.Literals(pinSources) },
  note: Schema.optionalKey(Schema.String),
  labels: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  key: Schema.optionalKey(Schema.String),
})
