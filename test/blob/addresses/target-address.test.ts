import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  addressUrl,
  readSourcePath,
  readTargetPath,
  type StoreAddress,
} from "../../../src/blob/addresses/target-address.ts"

const addressOf = (path: string): StoreAddress | string => {
  const reading = readTargetPath(path)
  if (reading.tag === "answer") return "answer"
  return reading.tag === "store" ? reading.address : reading.message
}

const nowhere = { host: undefined, region: undefined }

describe("a path that the client fills from the response", () => {
  test.each([
    "output.sktrace",
    "../x/y.sktrace",
    "/abs/trace",
    "file:///abs/path",
    "memory:///trace",
    "http://host/path",
    "https://dav.example.com/traces/a",
    "C:\\traces\\a.sktrace",
    "trace-12:30.sktrace",
    "",
  ])("%s", (path) => {
    expect(addressOf(path)).toBe("answer")
  })
})

describe("an object store", () => {
  test.each<[string, StoreAddress]>([
    ["s3://traces/a/b.sktrace", { provider: "s3", ...nowhere, bucket: "traces", key: "a/b.sktrace" }],
    ["S3A://traces/a", { provider: "s3", ...nowhere, bucket: "traces", key: "a" }],
    [
      "https://s3.eu-west-1.amazonaws.com/traces/a/b",
      { provider: "s3", host: "amazonaws.com", region: "eu-west-1", bucket: "traces", key: "a/b" },
    ],
    [
      "https://s3.dualstack.us-gov-west-1.amazonaws.com/traces/a",
      { provider: "s3", host: "amazonaws.com", region: "us-gov-west-1", bucket: "traces", key: "a" },
    ],
    [
      "https://s3.amazonaws.com/traces/a",
      { provider: "s3", host: "amazonaws.com", region: undefined, bucket: "traces", key: "a" },
    ],
    [
      "https://traces.s3.eu-west-1.amazonaws.com/a/b",
      { provider: "s3", host: "amazonaws.com", region: "eu-west-1", bucket: "traces", key: "a/b" },
    ],
    [
      "https://s3-logs.my.s3.cn-north-1.amazonaws.com.cn/a",
      { provider: "s3", host: "amazonaws.com.cn", region: "cn-north-1", bucket: "s3-logs.my", key: "a" },
    ],
    [
      "https://0123abc.eu.r2.cloudflarestorage.com/traces/a",
      { provider: "s3", host: "0123abc.eu.r2.cloudflarestorage.com", region: "auto", bucket: "traces", key: "a" },
    ],
    ["gs://traces/a%20b", { provider: "gs", ...nowhere, bucket: "traces", key: "a b" }],
    ["azure://traces/a/b", { provider: "azure", ...nowhere, bucket: "traces", key: "a/b" }],
    ["adl://traces/a", { provider: "azure", ...nowhere, bucket: "traces", key: "a" }],
    ["abfss://traces/a", { provider: "azure", ...nowhere, bucket: "traces", key: "a" }],
    [
      "abfss://traces@acme.dfs.core.windows.net/a/b",
      { provider: "azure", host: "acme.blob.core.windows.net", region: undefined, bucket: "traces", key: "a/b" },
    ],
    [
      "https://acme.blob.core.windows.net/traces/a",
      { provider: "azure", host: "acme.blob.core.windows.net", region: undefined, bucket: "traces", key: "a" },
    ],
  ])("%s", (path, address) => {
    expect(addressOf(path)).toEqual(address)
  })

  test("dot segments are removed before the key is checked", () => {
    expect(addressOf("s3://traces/a/../b/%2e%2E/c")).toEqual({ provider: "s3", ...nowhere, bucket: "traces", key: "c" })
  })
})

test("a trace may be at az://, which no export is written to", () => {
  expect(readSourcePath("az://traces/a/b")).toEqual(readTargetPath("azure://traces/a/b"))
  expect(readSourcePath("s3://traces/a")).toEqual(readTargetPath("s3://traces/a"))
})

describe("an invalid path", () => {
  test.each([
    ["ftp://host/a", "the scheme ftp: is not supported"],
    ["az://traces/a", "write azure://"],
    ["s3://traces", "names no object"],
    ["s3://traces/a/", "ends with a slash"],
    ["s3:///a", "cannot name a bucket"],
    ["s3:/traces/a", "cannot name a bucket"],
    ["s3://traces:9000/a", "port"],
    ["s3://key:secret@traces/a", "credentials"],
    ["s3://traces/a?versionId=1", "query"],
    ["s3://traces/a#b", "query"],
    ["s3://traces/a//b", "empty segment"],
    ["s3://traces/a%2F..%2Fb", "empty segment, . or .."],
    ["s3://traces/a%00b", "control characters"],
    ["s3://traces/a\nb", "control characters"],
    ["s3://traces/a%ffb", "does not start an encoded UTF-8"],
    [`s3://traces/${"k".repeat(1025)}`, "longer than 1024 bytes"],
    ["https://traces.s3-accelerate.amazonaws.com/a", "not an S3 address"],
    ["https://onelake.blob.fabric.microsoft.com/a/b", "OneLake"],
    ["abfss://traces@example.com/a", "ACCOUNT.dfs.core.windows.net"],
    ["abfs://%zz@acme.dfs.core.windows.net/a", "does not start an encoded UTF-8"],
  ])("%s", (path, reason) => {
    expect(addressOf(path)).toContain(reason)
  })

  test.each([
    "s3://AKIA:hush@traces/a?X-Amz-Signature=hush",
    "s3://AKIA:hush/K7M@traces/a",
    "s3://AKIA:wJa@hush@traces/a",
    "s3://AKIA:wJa?hush@traces/a",
    "s3:/AKIA:hush@traces/a",
    "s3://traces/a?user=AKIA@hush",
  ])("the error repeats no credentials: %s", (path) => {
    const refusal = addressOf(path)
    expect(refusal).toContain("cannot write to")
    expect(refusal).not.toContain("hush")
    expect(refusal).not.toContain("AKIA")
  })
})

const segment = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 12 })
  .filter((text) => !/[\p{Cc}/]/u.test(text) && ![".", ".."].includes(text) && text.isWellFormed())
const addresses = fc.record({
  place: fc.constantFrom<Omit<StoreAddress, "bucket" | "key">>(
    { provider: "s3", ...nowhere },
    { provider: "gs", ...nowhere },
    { provider: "azure", ...nowhere },
    { provider: "s3", host: "amazonaws.com", region: undefined },
    { provider: "s3", host: "amazonaws.com.cn", region: "cn-north-1" },
    { provider: "s3", host: "0a.r2.cloudflarestorage.com", region: "auto" },
    { provider: "azure", host: "acme.blob.core.windows.net", region: undefined },
  ),
  bucket: fc.stringMatching(/^[a-z0-9][a-z0-9-]{1,20}[a-z0-9]$/),
  key: fc.array(segment, { minLength: 1, maxLength: 5 }).map((segments) => segments.join("/")),
})

test("any address is read back from its URL", () => {
  fc.assert(
    fc.property(addresses, ({ place, bucket, key }) => {
      const address = { ...place, bucket, key }
      expect(addressOf(addressUrl(address))).toEqual(address)
    }),
  )
})

test("any text is read without throwing, and a resulting key is clean", () => {
  const begun = fc.tuple(
    fc.constantFrom("s3://b", "s3://bkt/", "gs://bkt/a/", "https://bkt.s3.amazonaws.com/", "abfs://%", ""),
    fc.string(),
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        begun.map((parts) => parts.join("")),
      ),
      (path) => {
        const reading = readTargetPath(path)
        if (reading.tag !== "store") return
        expect(reading.address.key.split("/")).not.toEqual(expect.arrayContaining([expect.stringMatching(/^\.{0,2}$/)]))
        expect(addressOf(addressUrl(reading.address))).toEqual(reading.address)
      },
    ),
  )
})
