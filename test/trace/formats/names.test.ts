import { describe, expect, test } from "vitest"
import { compressionOfBytes, withoutCompressionExtension } from "../../../src/trace/formats/compression-names.ts"
import {
  factsOf,
  formatOfAccept,
  formatOfBytes,
  formatOfFileName,
  TRACE_FORMATS,
} from "../../../src/trace/formats/names.ts"
import { converted, realTraces } from "./traces.ts"

describe("a format", () => {
  test.each([
    ["trace.sktrace", "simkube"],
    ["a/b.c/TRACE.SKTRACE.ZST", "simkube"],
    ["day.ndjson", "ndjson"],
    ["day.jsonl.gz", "ndjson"],
    ["recording.yaml", "kwok"],
    ["recording.yml.zst", "kwok"],
    ["trace.out", undefined],
    ["yaml", undefined],
    ["trace.zst", undefined],
    ["-", undefined],
  ])("of a file named %s is %s", (file, format) => {
    expect(formatOfFileName(file)).toBe(format)
  })

  test.each([
    [undefined, "ndjson"],
    ["", "ndjson"],
    ["*/*", "ndjson"],
    ["application/msgpack", "simkube"],
    ["application/yaml", "kwok"],
    ["text/yaml", "kwok"],
    ["application/*", "ndjson"],
    ["application/yaml;q=0.5, application/msgpack;q=0.9", "simkube"],
    ["application/*;q=0.1, application/yaml", "kwok"],
    ["*/*;q=0.1, application/x-ndjson;q=0", "simkube"],
    ["application/x-ndjson;q=nonsense, application/yaml;q=0.1", "kwok"],
    ["APPLICATION/X-NDJSON ; Q=0.4", "ndjson"],
    ["text/html", undefined],
    ["application/json", undefined],
  ])("for Accept: %s is %s", (accept, format) => {
    expect(formatOfAccept(accept)).toBe(format)
  })

  test("has names of its own", () => {
    for (const list of ["extensions", "mediaTypes"] as const) {
      const all = TRACE_FORMATS.flatMap((format) => [...format[list]] as string[])
      expect(new Set(all).size).toBe(all.length)
    }
    for (const { name } of TRACE_FORMATS) expect(factsOf(name).name).toBe(name)
  })

  test.each(TRACE_FORMATS.map(({ name }) => name))("%s is known by its first bytes", async (format) => {
    for (const [, read, isPublished] of realTraces) {
      if (isPublished) continue
      const { bytes } = await converted(read(), "simkube", format)
      expect(formatOfBytes(bytes.subarray(0, 512))).toBe(format)
    }
  })

  test.each([
    ["apiVersion: v1\nkind: Pod\n", "kwok"],
    ["---\n# made by kwok\nkind: Node\n", "kwok"],
    ["\ufeff# a comment\n\nmetadata:\n", "kwok"],
    ["hello: world\n", undefined],
    ["", undefined],
    ["PK\u0003\u0004", undefined],
    ['[{"a":1}]', undefined],
  ])("of %j is %s", (head, format) => {
    expect(formatOfBytes(Buffer.from(head))).toBe(format)
  })

  test("is decided at once however many empty lines a file begins with", () => {
    // 40 such lines took minutes: each could end the one before or belong to it.
    for (const line of ["\r\n", "\n", " \n", "\t\r\n"])
      expect(formatOfBytes(Buffer.from(`${line.repeat(512 / line.length)}`))).toBeUndefined()
    expect(formatOfBytes(Buffer.from(`${"\r\n".repeat(100)}kind: ResourcePatch\n`))).toBe("kwok")
  })

  test("version 1 of SimKube's format, an array, is passed to the reader that recognises it", () => {
    expect(formatOfBytes(Uint8Array.of(0x94, 0x81))).toBe("simkube")
  })
})

describe("a compression", () => {
  test.each([
    ["a.zst", "a", "zstd"],
    ["a.ndjson.GZ", "a.ndjson", "gzip"],
    ["a.ndjson", "a.ndjson", "none"],
  ])("of a file named %s: %s, %s", (file, base, compression) => {
    expect(withoutCompressionExtension(file)).toEqual({ base, compression })
  })

  test.each([
    ["28b52ffd", "zstd"],
    ["502a4d18", "zstd"],
    ["5f2a4d18", "zstd"],
    ["1f8b0800", "gzip"],
    ["85a77665", "none"],
    ["", "none"],
    ["28b5", "none"],
  ])("of the bytes %s is %s", (hex, compression) => {
    expect(compressionOfBytes(Buffer.from(hex, "hex"))).toBe(compression)
  })
})
