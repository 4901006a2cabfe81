/**
 * Writes the events of a trace as a Parquet file: one row for each event of an object, in row groups of bounded size, compressed with zstd.
 *
 * What it guarantees: rows are in the order of the trace, and each column chunk has its least and greatest value, so that a query for a time
 * or a kind passes over most of the file. Gaps and kinds that were not watched are left out, and counted.
 *
 * Memory: the rows of one row group, the last state of each object that is alive, and for the end of the file some kB for
 * each row group.
 */
import { constants, zstdCompressSync } from "node:zlib"
import { ByteWriter, type ColumnSource, ParquetWriter, type SchemaElement } from "hyparquet-writer"
import type { ObjectEvent } from "../../event.ts"
import { wasJustCreated } from "../../event-statement.ts"
import {
  countIncomplete,
  type LeftOut,
  nothingLeftOut,
  type TraceEncoder,
  UnwritableTraceError,
} from "../../formats/format.ts"
import { isSameScalar } from "../../json/difference.ts"
import { isJsonObject, type JsonObject, type JsonValue, parseExactJson } from "../../json/exact-json.ts"
import { memberIn } from "../../json/members.ts"
import { groupKindOf } from "../../ownership/ownership.ts"
import type { TraceHeader, TraceItem } from "../../trace-item.ts"
import { guarded, microsIn, objectOf } from "../lives/trace-object.ts"

// Where two JSON values differ, as JSON pointers (RFC 6901): `/spec/replicas`, `/metadata/labels/app.kubernetes.io~1name`.
//
// For programs: each pointer follows from the values alone, and items of lists are compared by their position. For people there is
// difference.ts, which finds an inserted item.

/**
 * The pointers of the smallest differing parts: a member or an item that is in one value only is one pointer. In the order of the members of
 * `before`, new ones last. The whole values are compared as objects, so the empty pointer occurs only if one of them is none.
 * @param isLeftOut leaves out the part at a pointer with all below it
 * @throws RangeError if the values are nested too deeply for the engine's stack
 */
export const changedPointers = (
  before: JsonValue,
  after: JsonValue,
  isLeftOut: (pointer: string) => boolean = () => false,
): ReadonlyArray<string> => {
  const found: string[] = []
  const compare = (pointer: string, one: JsonValue | undefined, other: JsonValue | undefined): void => {
    if (isSameScalar(one, other) || isLeftOut(pointer)) return
    if (isJsonObject(one) && isJsonObject(other)) {
      for (const key of Object.keys(one)) compare(below(pointer, key), one[key], memberIn(other, key))
      for (const key of Object.keys(other))
        if (!Object.hasOwn(one, key)) compare(below(pointer, key), undefined, other[key])
    } else if (Array.isArray(one) && Array.isArray(other)) {
      for (let index = 0; index < Math.max(one.length, other.length); index++)
        compare(`${pointer}/${index}`, one[index], other[index])
    } else found.push(pointer)
  }
  compare("", before, after)
  return found
}

const below = (pointer: string, key: string): string =>
  `${pointer}/${key.includes("~") || key.includes("/") ? key.replaceAll("~", "~0").replaceAll("/", "~1") : key}`

/**
 * - `listed`: it existed before: at the start of the trace, or so long before it was first seen that it must have been in a list
 * - `created`, `updated`, `deleted`: as it happened
 */
type Operation = "listed" | "created" | "updated" | "deleted"

/** One event. `null`: the trace does not have it. */
export interface EventRow {
  /** µs since the Unix epoch. */
  readonly time: number
  readonly kind: string
  readonly apiVersion: string
  /** `null`: the object is cluster-scoped. */
  readonly namespace: string | null
  readonly name: string
  readonly uid: string | null
  readonly resourceVersion: string | null
  readonly operation: Operation
  /** Of an update: JSON pointers of what differs from the object's state before. `null`: it is none, or what it was before is not known. */
  readonly changed: ReadonlyArray<string> | null
  /** The object as in the trace, with memory of its own; `null`: a deletion without it. */
  readonly object: Uint8Array | null
}

/** The name of the view, for messages. */
export const VIEW = "parquet"

/** What every change of an object changes. */
const bookkeeping: ReadonlySet<string> = new Set(["/metadata/resourceVersion", "/metadata/managedFields"])

interface LastState {
  readonly uid: string
  readonly object: Uint8Array
}

/** Turns the events of one trace into rows, in their order. */
export class EventRows {
  readonly #states = new Map<string, LastState>()

  /** @throws UnwritableTraceError if the object cannot be read */
  rowOf(event: ObjectEvent, isSnapshot: boolean): EventRow {
    const { gvk, namespace, name, uid, action } = event
    const parsed = objectOf(event, VIEW)
    const object = parsed === undefined ? null : new Uint8Array(event.object)
    const key = `${groupKindOf(gvk)} ${namespace}/${name}`
    const known = this.#states.get(key)
    // An object that took the name of another has no state before.
    const before = known === undefined || (known.uid !== uid && known.uid !== "" && uid !== "") ? undefined : known
    if (action !== "applied") {
      if (before !== undefined) this.#states.delete(key)
    } else this.#states.set(key, { uid, object: object ?? new Uint8Array(0) })
    const dot = gvk.lastIndexOf(".")
    return {
      time: event.time,
      kind: gvk.slice(dot + 1),
      apiVersion: gvk.slice(0, Math.max(0, dot)),
      namespace: orNull(namespace),
      name,
      uid: orNull(uid),
      resourceVersion: orNull(event.resourceVersion),
      operation: operationOf(event, isSnapshot, before !== undefined, parsed),
      changed: changedIn(event, before, parsed),
      object,
    }
  }
}

const operationOf = (
  { action, time }: ObjectEvent,
  isSnapshot: boolean,
  isKnown: boolean,
  object: JsonObject | undefined,
): Operation => {
  if (action !== "applied") return "deleted"
  if (isKnown) return "updated"
  if (isSnapshot) return "listed"
  const created = microsIn(memberIn(object, "metadata"), "creationTimestamp")
  return created === undefined || wasJustCreated(created, time) ? "created" : "listed"
}

const changedIn = (
  event: ObjectEvent,
  before: LastState | undefined,
  after: JsonObject | undefined,
): ReadonlyArray<string> | null => {
  // A trace of SimKube has stubs for deletions, of which everything would differ.
  if (event.action !== "applied" || before === undefined || after === undefined || before.object.length === 0)
    return null
  return guarded(event, VIEW, () =>
    changedPointers(parseExactJson(before.object), after, (pointer) => bookkeeping.has(pointer)),
  )
}

const orNull = (text: string): string | null => (text === "" ? null : text)

/**
 * Bytes of objects in a row group. Readers take a row group at once, and so does the writer: with 16 MiB it has some 100 MB, and a trace of
 * 10 GB some 640 of them.
 */
const ROW_GROUP_BYTES = 16 * 1024 * 1024
/** Rows without an object are small, but not nothing. */
const ROW_GROUP_ROWS = 100_000

const compression = { params: { [constants.ZSTD_c_compressionLevel]: 3 } }

/** A column of texts. */
const text = (name: string, repetition_type: "REQUIRED" | "OPTIONAL"): SchemaElement => ({
  name,
  type: "BYTE_ARRAY",
  converted_type: "UTF8",
  logical_type: { type: "STRING" },
  repetition_type,
})

const schema: SchemaElement[] = [
  { name: "event", num_children: 10 },
  {
    name: "time",
    type: "INT64",
    converted_type: "TIMESTAMP_MICROS",
    logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" },
    repetition_type: "REQUIRED",
  },
  text("kind", "REQUIRED"),
  text("apiVersion", "REQUIRED"),
  text("namespace", "OPTIONAL"),
  text("name", "REQUIRED"),
  text("uid", "OPTIONAL"),
  text("resourceVersion", "OPTIONAL"),
  text("operation", "REQUIRED"),
  {
    name: "changed",
    converted_type: "LIST",
    logical_type: { type: "LIST" },
    num_children: 1,
    repetition_type: "OPTIONAL",
  },
  { name: "list", num_children: 1, repetition_type: "REPEATED" },
  text("element", "REQUIRED"),
  text("object", "OPTIONAL"),
]

/** The columns whose values are written as they are in a row. */
const plainColumns = [
  "kind",
  "apiVersion",
  "namespace",
  "name",
  "uid",
  "resourceVersion",
  "operation",
] as const satisfies ReadonlyArray<keyof EventRow>

/** One encoder for one trace. `rowGroupBytes`: tests make small row groups. */
export const parquetEncoder = (rowGroupBytes = ROW_GROUP_BYTES): TraceEncoder => new ParquetEncoder(rowGroupBytes)

class ParquetEncoder implements TraceEncoder {
  readonly #rowGroupBytes: number
  readonly #bytes = new ByteWriter()
  readonly #events = new EventRows()
  #rows: EventRow[] = []
  #objectBytes = 0
  #header: TraceHeader | undefined
  #file: ParquetWriter | undefined
  #gaps = 0

  constructor(rowGroupBytes: number) {
    this.#rowGroupBytes = rowGroupBytes
  }

  get leftOut(): LeftOut {
    return { ...nothingLeftOut, gaps: this.#gaps, incomplete: countIncomplete(this.#header?.incomplete ?? []) }
  }

  add(item: TraceItem): void {
    if (item.type === "header") this.#begin(item)
    else if (this.#file === undefined) throw withoutHeader()
    else if (item.type === "event") {
      if (item.event.type === "gap") this.#gaps++
      else this.#add(this.#events.rowOf(item.event, item.isSnapshot), this.#file)
    }
  }

  take(): Uint8Array | undefined {
    return this.#bytes.index === 0 || this.#rows.length > 0 ? undefined : this.#taken()
  }

  *finish(): Generator<Uint8Array> {
    if (this.#file === undefined) throw withoutHeader()
    this.#flush(this.#file)
    // With a writer in memory neither this nor `write` returns a promise.
    void this.#file.finish()
    yield this.#taken()
  }

  #begin(header: TraceHeader): void {
    this.#header = header
    const { window, kinds, incomplete, clusterUid, sanitised } = header
    this.#file = new ParquetWriter({
      writer: this.#bytes,
      schema,
      codec: "ZSTD",
      compressors: { ZSTD: (bytes) => zstdCompressSync(bytes, compression) },
      createdBy: "kubereel",
      kvMetadata: [{ key: "kubereel", value: JSON.stringify({ window, kinds, incomplete, clusterUid, sanitised }) }],
    })
  }

  #add(row: EventRow, file: ParquetWriter): void {
    this.#rows.push(row)
    this.#objectBytes += row.object?.length ?? 0
    if (this.#objectBytes >= this.#rowGroupBytes || this.#rows.length >= ROW_GROUP_ROWS) this.#flush(file)
  }

  #flush(file: ParquetWriter): void {
    const rows = this.#rows
    if (rows.length === 0) return
    const columnData: ColumnSource[] = [
      { name: "time", data: rows.map(({ time }) => BigInt(time)) },
      ...plainColumns.map((name) => ({ name, data: rows.map((row) => row[name]) })),
      { name: "changed", data: rows.map(({ changed }) => changed) },
      // The bounds of texts of JSON help no query, and objects that repeat are rare.
      { name: "object", data: rows.map(({ object }) => object), encoding: "PLAIN", statistics: false },
    ]
    // Without the places of pages, which would be kept until the end for the sake of readers that skip within a row group.
    void file.write({
      columnData: columnData.map((each) => ({ ...each, offsetIndex: false })),
      rowGroupSize: rows.length,
    })
    this.#rows = []
    this.#objectBytes = 0
  }

  #taken(): Uint8Array {
    const piece = Uint8Array.from(this.#bytes.getBytes())
    this.#bytes.index = 0
    return piece
  }
}

const withoutHeader = (): UnwritableTraceError =>
  new UnwritableTraceError({ format: VIEW, detail: "the trace does not begin with its header" })
