/** Looks for planted values in everything that a recorder leaves behind, in every form in which they could be there. */
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { gunzipSync, zstdDecompressSync } from "node:zlib"

/** One form of a value. */
interface Form {
  readonly name: string
  readonly bytes: Buffer
}

/** As it is, as hexadecimal digits, and as base64, wherever in a longer text it begins. */
const formsOf = (value: string): ReadonlyArray<Form> => {
  const plain = Buffer.from(value)
  const encoded = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), plain])
      .toString("base64")
      .replace(/=+$/, "")
    // The characters at both ends also depend on what is around the value.
    return text.slice(before === 0 ? 0 : before + 1, before === 0 && plain.length % 3 === 0 ? undefined : -1)
  })
  return [
    { name: "plain", bytes: plain },
    { name: "hexadecimal", bytes: Buffer.from(plain.toString("hex")) },
    { name: "HEXADECIMAL", bytes: Buffer.from(plain.toString("hex").toUpperCase()) },
    ...encoded.map((text) => ({ name: "base64", bytes: Buffer.from(text) })),
    ...encoded.map((text) => ({
      name: "base64url",
      bytes: Buffer.from(text.replaceAll("+", "-").replaceAll("/", "_")),
    })),
    // A Secret's data in an export that encodes objects once more.
    {
      name: "base64 of base64",
      bytes: Buffer.from(Buffer.from(plain.toString("base64")).toString("base64").slice(0, 16)),
    },
  ]
}

/** Where which form of which value is; empty if none is anywhere. */
export const foundIn = (where: string, content: Buffer, values: ReadonlyArray<string>): ReadonlyArray<string> =>
  values.flatMap((value) =>
    formsOf(value).flatMap(({ name, bytes }) => (content.includes(bytes) ? [`${value} (${name}) in ${where}`] : [])),
  )

const zstdMagic = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])

/** The content of a compressed column or body; as it is if it is not compressed. */
export const unpacked = (content: Buffer): Buffer => {
  if (content.subarray(0, 4).equals(zstdMagic)) return zstdDecompressSync(content)
  return content[0] === 0x1f && content[1] === 0x8b ? gunzipSync(content) : content
}

/** What the frames of zstd in some bytes contain, wherever they begin, and those in these. */
const framesIn = (content: Buffer): ReadonlyArray<Buffer> => {
  const found: Buffer[] = []
  for (let at = content.indexOf(zstdMagic); at >= 0; at = content.indexOf(zstdMagic, at + 1)) {
    const frame = frameAt(content, at)
    if (frame !== undefined) found.push(frame, ...framesIn(frame))
  }
  return found
}

/** Node passes over what is behind a frame. `undefined`: these four bytes begin none. */
const frameAt = (content: Buffer, at: number): Buffer | undefined => {
  try {
    return zstdDecompressSync(content.subarray(at))
  } catch (error) {
    if (error instanceof Error && "code" in error && String(error.code).startsWith("ZSTD_")) return undefined
    throw error
  }
}

/** Every object of a store in a directory as bytes, with everything in it that is compressed: blocks, rows, and pages of Parquet files. */
export const everythingStored = (directory: string): ReadonlyArray<readonly [where: string, content: Buffer]> =>
  filesBelow(directory).flatMap((path) => {
    const content = readFileSync(path)
    return [content, ...framesIn(content)].map((each) => [path, each] as const)
  })

const filesBelow = (directory: string): ReadonlyArray<string> =>
  readdirSync(directory).flatMap((name) => {
    const path = join(directory, name)
    return statSync(path).isDirectory() ? filesBelow(path) : [path]
  })

/** Every file of a data directory as bytes, free pages and log included, and every value of every table, decompressed. */
export const everythingIn = (directory: string): ReadonlyArray<readonly [where: string, content: Buffer]> =>
  filesBelow(directory).flatMap((path) => {
    const content = readFileSync(path)
    const raw = [path, content] as const
    return content.subarray(0, 15).toString("latin1") === "SQLite format 3" ? [raw, ...tablesOf(path)] : [raw]
  })

const tablesOf = (path: string): ReadonlyArray<readonly [where: string, content: Buffer]> => {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
    return tables.flatMap(({ name }) => {
      const statement = database.prepare(`SELECT * FROM "${String(name)}"`)
      statement.setReadBigInts(true)
      return statement.all().flatMap((row) =>
        Object.entries(row).flatMap(([column, value]) => {
          const where = `${path}, ${String(name)}.${column}`
          if (value instanceof Uint8Array) return [[where, unpacked(Buffer.from(value))] as const]
          return typeof value === "string" ? [[where, Buffer.from(value)] as const] : []
        }),
      )
    })
  } finally {
    database.close()
  }
}
