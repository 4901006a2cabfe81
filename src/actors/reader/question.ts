/** Questions about the past, as they come to the reader. */
import * as Schema from "effect/Schema"

const abouts = [
  ...(["objects", "changes", "differences", "kinds", "events"] as const),
  ...(["lanes", "tiles", "histogram", "findings"] as const),
] as const

/**
 * One question. Its parts are those of src/archive/queries; which of them have a meaning depends on what it is about, and the others are ignored.
 */
export const Question = Schema.Struct({
  /**
   * `objects`: as they were at a moment, of one kind. `changes`: what happened in a stretch of time. `differences`: what two moments differ in. `kinds`: what
   * is recorded. `events`: what is committed from an event on, without end. `lanes`, `tiles`, `histogram`, `findings`: the time line of a stretch of time.
   */
  about: Schema.Literals(abouts),
  /** Names of kinds: exact ones, or those that discovery gave when they were recorded. Default: all. */
  kinds: Schema.optionalKey(Schema.Array(Schema.String)),
  namespace: Schema.optionalKey(Schema.String),
  name: Schema.optionalKey(Schema.String),
  uid: Schema.optionalKey(Schema.String),
  /** A label selector: `app=web,tier in (a,b)`. */
  labels: Schema.optionalKey(Schema.String),
  /** A field selector, of any field: `spec.nodeName=a`. */
  fields: Schema.optionalKey(Schema.String),
  /** Only changes of the field at this path: `spec.replicas`. */
  field: Schema.optionalKey(Schema.String),
  /** µs since the Unix epoch, inclusive. Objects are those at `to`. */
  from: Schema.Number,
  to: Schema.Number,
  order: Schema.optionalKey(Schema.Literals(["name", "change"])),
  limit: Schema.optionalKey(Schema.Number),
  continue: Schema.optionalKey(Schema.String),
  /** Changes of what the named object owned as well, and the Kubernetes Events about all of them. */
  withOwned: Schema.optionalKey(Schema.Boolean),
  /** Changes of its owners as well, and of theirs. */
  withOwners: Schema.optionalKey(Schema.Boolean),
  /** Changes and differences come with whole objects. Default: with the fields that differ. */
  withObjects: Schema.optionalKey(Schema.Boolean),
  /** Events come with the fields that differ. Changes always do. */
  withDifferences: Schema.optionalKey(Schema.Boolean),
  /** Sequence number of the event after which events begin; 0: with the first that is kept. Default: with the next. */
  after: Schema.optionalKey(Schema.Number),
  /** Only lanes whose names have this part, in any case, and those above them. */
  find: Schema.optionalKey(Schema.String),
  /** Of the lane whose lanes below are asked for. Default: namespaces. */
  parent: Schema.optionalKey(Schema.String),
  /** Lanes to leave out, in order. Default 0. */
  offset: Schema.optionalKey(Schema.Number),
  /** Of lanes whose tiles are asked for. */
  lanes: Schema.optionalKey(Schema.Array(Schema.String)),
  /** Columns of tiles, or of a histogram. */
  width: Schema.optionalKey(Schema.Number),
  /** Tiles also of the rows below each object. */
  withParts: Schema.optionalKey(Schema.Boolean),
  /** Events come as Server-Sent Events. Default: a JSON object per line. */
  isEventStream: Schema.optionalKey(Schema.Boolean),
  /** The answer is one JSON document. Default: a JSON object per line. */
  isDocument: Schema.optionalKey(Schema.Boolean),
  /**
   * The kinds of which the client may see something, and in which namespaces only. Absent: everything may be shown. Present, the answer says that it shows a part,
   * and no text of the recorder's that may name other objects.
   */
  shown: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        gvk: Schema.String,
        namespaces: Schema.optionalKey(Schema.Array(Schema.String)),
        isNamedOnly: Schema.optionalKey(Schema.Literal(true)),
      }),
    ),
  ),
  /** µs since the Unix epoch up to which kinds are known that are being watched. */
  known: Schema.Array(Schema.Struct({ gvk: Schema.String, until: Schema.Number })),
})
export type Question = typeof Question.Type
