/** Traces are the same bytes after passing through the event model, and through other formats. */

import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { BadTraceError, UnwritableTraceError } from "../../../src/trace/formats/format.ts"
import {
  encodeMessagePack,
  IntegralFloat,
  type JsonValue,
  type MessagePackValue,
  parseExactJson,
} from "../../../src/trace/index.ts"
import { rounds } from "../../harness/effort.ts"
import { jsonValue, mutated } from "../json-values.ts"
import { goldenTrace } from "../recording.ts"
import { converted, realTraces, whyNoPublished } from "./traces.ts"

describe.each(realTraces)("the trace %s", (_, read, isPublished) => {
  test.for([
    ["decoded and encoded", []],
    ["by way of NDJSON", ["ndjson"]],
    ["by way of NDJSON, twice", ["ndjson", "ndjson"]],
  ] as const)("%s has the same bytes", async ([, stations], context) => {
    if (isPublished && whyNoPublished !== undefined) context.skip(whyNoPublished)
    const original = read()
    let bytes = original
    let format: "simkube" | "ndjson" = "simkube"
    for (const station of [...stations, "simkube"] as const) {
      bytes = (await converted(bytes, format, station, 1000)).bytes
      format = station
    }
    expect(Buffer.compare(bytes, original)).toBe(0)
  })

  test("as NDJSON is marked as made by SimKube, and every line is JSON", async (context) => {
    if (isPublished && whyNoPublished !== undefined) context.skip(whyNoPublished)
    const { bytes } = await converted(read(), "simkube", "ndjson")
    const lines = bytes.toString("utf8").trimEnd().split("\n").map(parseExactJson)
    expect(lines[0]).toMatchObject({ format: "kubereel", version: 1, sanitised: { for: "simkube" } })
    expect(lines.at(-1)).toHaveProperty("end")
  })

  test("as a kwok recording, via NDJSON, has the same bytes", async (context) => {
    if (isPublished && whyNoPublished !== undefined) context.skip(whyNoPublished)
    const kwok = (await converted(read(), "simkube", "kwok")).bytes
    const ndjson = (await converted(kwok, "kwok", "ndjson", 777)).bytes
    expect((await converted(ndjson, "ndjson", "kwok")).bytes.toString()).toBe(kwok.toString())
  })
})

/** JSON as MessagePack with the order of its entries, whatever the keys. */
const ordered: fc.Arbitrary<MessagePackValue> = jsonValue.map((value) => toMaps(value))

const toMaps = (value: JsonValue): MessagePackValue => {
  if (typeof value !== "object" || value === null || value instanceof IntegralFloat) return value
  if (Array.isArray(value)) return value.map((item: JsonValue) => toMaps(item))
  // Reversed, so that it is never the order of an engine or a sorting writer.
  return new Map(
    Object.entries(value)
      .reverse()
      .map(([key, item]) => [key, toMaps(item as JsonValue)]),
  )
}

const seconds = fc.integer({ min: 0, max: 4_000_000_000 })
const word = fc.constantFrom("a", "b", "web", "10", "9")
const hash = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
const asInteger = (value: bigint): number | bigint => (value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value)

const object = fc
  .tuple(word, word, fc.uniqueArray(fc.tuple(word, ordered), { maxLength: 4, selector: ([key]) => key }))
  .map(([name, namespace, rest]): MessagePackValue => {
    const metadata = new Map<MessagePackValue, MessagePackValue>([
      ["namespace", namespace],
      ["name", name],
    ])
    const named = [
      ["kind", "Pod"],
      ["metadata", metadata],
      ["apiVersion", "v1"],
    ] as const
    return new Map<MessagePackValue, MessagePackValue>([...named, ...rest])
  })

const life = fc.oneof(
  fc.constant<MessagePackValue>("Empty"),
  seconds.map((start): MessagePackValue => new Map([["Running", start]])),
  fc.tuple(seconds, seconds).map((times): MessagePackValue => new Map([["Finished", times]])),
)

const mapOf = <Value>(entries: ReadonlyArray<readonly [string, Value]>): Map<string, Value> => new Map(entries)
const entriesOf = <Value>(value: fc.Arbitrary<Value>, minLength = 0) =>
  fc.uniqueArray(fc.tuple(word, value), { minLength, maxLength: 4, selector: ([key]) => key }).map(mapOf)

/** A file of SimKube's structure, with nothing in the order in which we would write it. */
const file: fc.Arbitrary<Uint8Array> = fc
  .record({
    version: fc.constant<MessagePackValue>(2),
    config: entriesOf(fc.constant(new Map<string, MessagePackValue>([["podSpecTemplatePaths", ["/x", ""]]]))).map(
      (tracked): MessagePackValue => new Map([["trackedObjects", tracked]]),
    ),
    events: fc.array(
      fc.tuple(seconds, fc.array(object, { maxLength: 3 }), fc.array(object, { maxLength: 2 })).map(
        ([ts, applied, deleted]): MessagePackValue =>
          new Map<string, MessagePackValue>([
            ["ts", ts],
            ["applied_objs", applied],
            ["deleted_objs", deleted],
          ]),
      ),
      { maxLength: 4 },
    ),
    index: entriesOf(entriesOf(hash.map(asInteger), 1)),
    pod_lifecycles: fc
      .uniqueArray(fc.tuple(word, fc.uniqueArray(fc.tuple(hash, fc.array(life)), { selector: ([key]) => key })), {
        maxLength: 3,
        selector: ([owner]) => owner,
      })
      .map(
        (owners): MessagePackValue =>
          new Map(
            owners.map(([owner, pods]): [MessagePackValue, MessagePackValue] => [
              ["v1.Pod", owner],
              new Map(pods.map(([key, lives]) => [asInteger(key), lives])),
            ]),
          ),
      ),
  })
  .map((sections) => encodeMessagePack(new Map(Object.entries(sections) as Array<[string, MessagePackValue]>)))

describe("any trace of SimKube's structure", () => {
  test("decoded and encoded has the same bytes, in pieces of any size", async () => {
    await fc.assert(
      fc.asyncProperty(file, fc.integer({ min: 1, max: 100 }), async (bytes, size) => {
        expect(Buffer.compare((await converted(bytes, "simkube", "simkube", size)).bytes, bytes)).toBe(0)
      }),
    )
  })

  test("via NDJSON has the same bytes", async () => {
    await fc.assert(
      fc.asyncProperty(file, async (bytes) => {
        const ndjson = (await converted(bytes, "simkube", "ndjson")).bytes
        expect(Buffer.compare((await converted(ndjson, "ndjson", "simkube")).bytes, bytes)).toBe(0)
      }),
    )
  })

  test("is not written with a configuration that cannot be read again, which NDJSON may have after an edit", async () => {
    const ndjson = (await converted(goldenTrace("recording-2"), "simkube", "ndjson")).bytes.toString()
    const edited = ndjson.replace(/"podSpecTemplatePaths":\[/, '"podSpecTemplatePaths":[7,')
    expect(edited).not.toBe(ndjson)
    await expect(converted(Buffer.from(edited), "ndjson", "simkube")).rejects.toThrow(UnwritableTraceError)
  })

  test("with a negative hash is refused, which NDJSON could not hold", async () => {
    const sections = {
      version: 2,
      config: new Map([["trackedObjects", new Map()]]),
      events: [],
      index: new Map([["v1.Pod", new Map([["a/b", -1]])]]),
      pod_lifecycles: new Map(),
    }
    const bytes = encodeMessagePack(new Map(Object.entries(sections)) as MessagePackValue)
    await expect(converted(bytes, "simkube", "ndjson")).rejects.toThrow("expected an unsigned integer")
  })

  test("when damaged, is read or rejected, on every path", async () => {
    await fc.assert(
      fc.asyncProperty(mutated(file), fc.boolean(), async (bytes, isLater) => {
        try {
          const ndjson = (await converted(bytes, "simkube", "ndjson")).bytes
          const damaged = isLater ? ndjson.subarray(0, Math.max(0, ndjson.length - (bytes[0] ?? 0))) : ndjson
          await converted(damaged, "ndjson", "simkube")
        } catch (error) {
          expect(error instanceof BadTraceError || error instanceof UnwritableTraceError).toBe(true)
        }
      }),
      { numRuns: rounds(500) },
    )
  })
})
