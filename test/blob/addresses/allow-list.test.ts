import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { isAllowed, readAllowList } from "../../../src/blob/addresses/allow-list.ts"
import { readTargetPath } from "../../../src/blob/addresses/target-address.ts"

const allows = (entries: ReadonlyArray<string>, path: string): boolean => {
  const list = readAllowList(entries)
  const reading = readTargetPath(path)
  if (list.tag !== "allow-list" || reading.tag !== "store") throw new Error(`cannot be read: ${entries} or ${path}`)
  return isAllowed(reading.address, list.places)
}

describe("an allow-list", () => {
  test("that is empty allows no store", () => {
    fc.assert(
      fc.property(fc.constantFrom("s3://traces/a", "gs://traces/a", "azure://traces/a"), (path) => !allows([], path)),
    )
  })

  test.each([
    ["s3://traces", "s3://traces/a"],
    ["s3://traces/", "s3://traces/a/b"],
    ["s3://traces/team-a", "s3://traces/team-a/x"],
    ["s3://traces/team-a", "s3://traces/team-a"],
    ["s3://traces/team-a/", "s3a://traces/team-a/x"],
    ["s3://", "s3://anything/x"],
    ["https://s3.eu-west-1.amazonaws.com/traces", "https://traces.s3.us-east-1.amazonaws.com/x"],
    ["https://acme.blob.core.windows.net/traces", "abfss://traces@acme.dfs.core.windows.net/x"],
  ])("with %s allows %s", (entry, path) => {
    expect(allows([entry], path)).toBe(true)
  })

  test.each([
    ["s3://traces", "s3://traces-of-others/a"],
    ["s3://traces/team-a", "s3://traces/team-abc/x"],
    ["s3://traces/team-a", "s3://traces/team-a/../team-b/x"],
    ["s3://traces/team-a", "s3://traces/team-a/%2e%2e/team-b/x"],
    ["s3://traces/team-a/", "s3://traces/team-a"],
    ["s3://traces", "gs://traces/a"],
    ["s3://traces", "azure://traces/a"],
    // The environment may point s3:// at a private server, where someone else owns the name.
    ["s3://traces", "https://traces.s3.amazonaws.com/a"],
    ["s3://", "https://0a.r2.cloudflarestorage.com/traces/a"],
    ["https://s3.amazonaws.com/traces", "s3://traces/a"],
    ["https://s3.amazonaws.com/traces", "https://s3.cn-north-1.amazonaws.com.cn/traces/a"],
    ["azure://traces", "https://acme.blob.core.windows.net/traces/a"],
    ["https://acme.blob.core.windows.net/traces", "https://evil.blob.core.windows.net/traces/a"],
  ])("with %s does not allow %s", (entry, path) => {
    expect(allows([entry], path)).toBe(false)
  })

  test("is rejected as a whole, naming every entry that cannot be read", () => {
    const reading = readAllowList(["s3://traces", "s3://traces/*", "/var/traces", "s3://a?x", "s3://traces/a//b"])
    expect(reading).toMatchObject({ tag: "refused" })
    expect(reading.tag === "refused" && reading.faults).toEqual([
      expect.stringContaining("contains a *"),
      expect.stringContaining("not an object store"),
      expect.stringContaining("query"),
      expect.stringContaining("empty segment"),
    ])
  })

  test("allows what is below an entry and nothing else, whatever the names", () => {
    const name = fc.stringMatching(/^[a-z0-9]{1,8}$/)
    fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 4 }), name, name, (segments, below, suffix) => {
        const entry = `s3://traces/${segments.join("/")}`
        expect(allows([entry], `${entry}/${below}`)).toBe(true)
        expect(allows([entry], `${entry}${suffix}`)).toBe(false)
      }),
    )
  })
})
