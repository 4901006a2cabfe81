/**
 * Facts as a Parquet file: one row for each, in their order, compressed with zstd.
 *
 * The same facts are the same bytes. Memory: the rows of one row group, and the file.
 */
import { constants, zstdCompressSync } from "node:zlib"
import { ByteWriter, ParquetWriter, type SchemaElement } from "hyparquet-writer"
import { columns, type Fact, type Form } from "./fact.ts"

/** Rows of a row group: some 20 MB in memory. */
const ROW_GROUP_ROWS = 20_000

const repetition_type = "OPTIONAL"

const text = { type: "BYTE_ARRAY", converted_type: "UTF8", logical_type: { type: "STRING" } } as const

const elementsOf: Readonly<Record<Form, (name: string) => ReadonlyArray<SchemaElement>>> = {
  time: (name) => [
    {
      ...{ name, type: "INT64", converted_type: "TIMESTAMP_MICROS", repetition_type },
      logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" },
    },
  ],
  text: (name) => [{ ...text, name, repetition_type }],
  integer: (name) => [{ name, type: "INT64", repetition_type }],
  number: (name) => [{ name, type: "DOUBLE", repetition_type }],
  texts: (name) => [
    { name, converted_type: "LIST", logical_type: { type: "LIST" }, num_children: 1, repetition_type },
    { name: "list", num_children: 1, repetition_type: "REPEATED" },
    { ...text, name: "element", repetition_type: "REQUIRED" },
  ],
}

const schema: SchemaElement[] = [
  { name: "fact", num_children: Object.keys(columns).length },
  ...Object.entries(columns).flatMap(([name, form]) => elementsOf[form](name)),
]

const names = Object.keys(columns).filter((name): name is keyof Fact => Object.hasOwn(columns, name))

/** A number that is no integer of 64 bits is none that a cluster could mean. */
const stored = (form: Form, value: Fact[keyof Fact]): unknown => {
  if (typeof value !== "number" || form === "number") return value
  return Number.isSafeInteger(Math.ceil(value)) ? BigInt(Math.ceil(value)) : null
}

/** Writes one file. */
export class FactsFile {
  readonly #bytes = new ByteWriter()
  readonly #file = new ParquetWriter({
    ...{ writer: this.#bytes, schema, codec: "ZSTD", createdBy: "kubereel" },
    compressors: {
      ZSTD: (bytes) => zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 3 } }),
    },
  })
  #rows: Fact[] = []

  add(fact: Fact): void {
    if (this.#rows.push(fact) === ROW_GROUP_ROWS) this.#flush()
  }

  finish(): Uint8Array {
    this.#flush()
    // With a writer in memory neither this nor `write` returns a promise.
    void this.#file.finish()
    return this.#bytes.getBytes()
  }

  #flush(): void {
    const rows = this.#rows
    if (rows.length === 0) return
    const columnData = names.map((name) => ({
      ...{ name, data: rows.map((row) => stored(columns[name], row[name])), offsetIndex: false },
    }))
    void this.#file.write({ columnData, rowGroupSize: rows.length })
    this.#rows = []
  }
}
