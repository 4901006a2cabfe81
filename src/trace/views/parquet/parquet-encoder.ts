/**
 * Writes the events of a trace as a Parquet file: one row for each event of an object, in row groups of bounded size, compressed with zstd.
 *
 * What it guarantees: rows are in the order of the trace, and each column chunk has its least and greatest value, so that a query for a time
 * or a kind passes over most of the file. Gaps and kinds that were not watched are left out, and counted.
 *
 * Memory: the rows of one row group, the last state of each object that is alive (event-rows.ts), and for the end of the file some kB for
 * each row group.
 */
import { constants, zstdCompressSync } from "node:zlib"
import { ByteWriter, type ColumnSource, ParquetWriter, type SchemaElement } from "hyparquet-writer"
import {
  countIncomplete,
  type LeftOut,
  nothingLeftOut,
  type TraceEncoder,
  UnwritableTraceError,
} from "../../formats/format.ts"
import type { TraceHeader, TraceItem } from "../../trace-item.ts"
import { type EventRow, EventRows, VIEW } from "./event-rows.ts"

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
