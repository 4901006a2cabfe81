/**
 * What a fact has, by the table {@link columns}, and facts as a Parquet file: one row for each, in their order, compressed with zstd.
 *
 * The same facts are the same bytes. Memory: the rows of one row group, and the file.
 */
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib"
import { parquetMetadata, parquetReadObjects } from "hyparquet"
import { ByteWriter, ParquetWriter, type SchemaElement } from "hyparquet-writer"

/** The columns in their order. Only add to them, at the end: files that exist lack what is added. */
const columns = {
  ...({ time: "time", cluster_uid: "text", sequence: "integer", gvk: "text", kind: "text" } as const),
  ...({ namespace: "text", name: "text", uid: "text", resource_version: "text", operation: "text" } as const),
  ...({ changed: "texts", manager: "text", username: "text", owner: "text", phase: "text", reason: "text" } as const),
  ...({ replicas: "integer", restarts: "integer", images: "texts", node: "text" } as const),
  ...({ cpu: "number", memory: "integer" } as const),
  ...({ images_before: "texts", replicas_before: "integer", restarts_before: "integer" } as const),
}

/** How a column is stored; `time`: µs since the Unix epoch. */
interface Values {
  readonly time: number
  readonly text: string
  readonly integer: number
  readonly number: number
  readonly texts: ReadonlyArray<string>
}
type Form = keyof Values

/** `null`: there is none, or it is not known. */
export type Fact = { readonly [Name in keyof typeof columns]: Values[(typeof columns)[Name]] | null }

/** As a file has it: integers and times are bigints, and columns may be missing. */
type StoredFact = Readonly<Record<string, unknown>>

const repetition_type = "OPTIONAL"
const utf8 = { type: "BYTE_ARRAY", converted_type: "UTF8", logical_type: { type: "STRING" } } as const
const micros = { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" } as const

/** Types in DuckDB and in Parquet, with what is below them. */
const forms: Readonly<Record<Form, readonly [string, Omit<SchemaElement, "name">, ...ReadonlyArray<SchemaElement>]>> = {
  time: ["TIMESTAMPTZ", { type: "INT64", converted_type: "TIMESTAMP_MICROS", repetition_type, logical_type: micros }],
  text: ["VARCHAR", { ...utf8, repetition_type }],
  integer: ["BIGINT", { type: "INT64", repetition_type }],
  number: ["DOUBLE", { type: "DOUBLE", repetition_type }],
  texts: [
    ...([
      "VARCHAR[]",
      { converted_type: "LIST", logical_type: { type: "LIST" }, num_children: 1, repetition_type },
    ] as const),
    { name: "list", num_children: 1, repetition_type: "REPEATED" },
    { ...utf8, name: "element", repetition_type: "REQUIRED" },
  ],
}

/** The columns and those of folders, each with its type in DuckDB. */
export const sqlColumns: ReadonlyArray<readonly [name: string, type: string]> = [
  ...Object.entries(columns).map(([name, form]) => [name, forms[form][0]] as const),
  ...[["cluster", "VARCHAR"] as const, ["day", "DATE"] as const],
]

const names = Object.keys(columns).filter((name): name is keyof Fact => Object.hasOwn(columns, name))

const schema: SchemaElement[] = [
  { name: "fact", num_children: names.length },
  ...names.flatMap((name) => {
    const [, element, ...below] = forms[columns[name]]
    return [{ name, ...element }, ...below]
  }),
]

/** A number that is no integer of 64 bits is none that a cluster could mean. */
const stored = (form: Form, value: unknown): unknown => {
  if (typeof value !== "number" || form === "number") return value
  return Number.isSafeInteger(Math.ceil(value)) ? BigInt(Math.ceil(value)) : null
}

/** Rows of a row group: some 20 MB in memory. */
const ROW_GROUP_ROWS = 20_000

/** Writes one file. */
export class FactsFile {
  readonly #bytes = new ByteWriter()
  readonly #file = new ParquetWriter({
    ...{ writer: this.#bytes, schema, codec: "ZSTD", createdBy: "kubereel" },
    compressors: {
      ZSTD: (bytes) => zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 3 } }),
    },
  })
  #rows: Array<Fact | StoredFact> = []

  add(fact: Fact | StoredFact): void {
    if (this.#rows.push(fact) === ROW_GROUP_ROWS) this.#flush()
  }

  finish(): Uint8Array {
    this.#flush()
    // With a writer in memory neither this nor `write` returns a promise.
    void this.#file.finish()
    return this.#bytes.getBytes()
  }

  #flush(): void {
    const rows = this.#rows.splice(0)
    if (rows.length === 0) return
    const columnData = names.map((name) => ({
      ...{ name, data: rows.map((row) => stored(columns[name], row[name] ?? null)), offsetIndex: false },
    }))
    void this.#file.write({ columnData, rowGroupSize: rows.length })
  }
}

/** How many columns files have that are written now: it is in their names. */
export const columnCount = names.length

/** The facts of a file, a row group at a time. Rejects with an error of the parser if it is damaged. */
export async function* factsOf(bytes: Uint8Array): AsyncGenerator<ReadonlyArray<StoredFact>, void, void> {
  const file = Uint8Array.from(bytes).buffer
  const compressors = { ZSTD: (input: Uint8Array) => zstdDecompressSync(input) }
  const parsers = { timestampFromMicroseconds: (micros: bigint) => micros }
  const metadata = parquetMetadata(file)
  let rowStart = 0
  for (const { num_rows } of metadata.row_groups) {
    const rowEnd = rowStart + Number(num_rows)
    yield await parquetReadObjects({ file, metadata, compressors, parsers, rowStart, rowEnd })
    rowStart = rowEnd
  }
}
