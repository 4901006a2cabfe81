import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { hashEncodedValue } from "../../../../src/trace/formats/simkube/hash/simkube-encoded-hash.ts"
import { encodeMessagePack } from "../../../../src/trace/formats/simkube/message-pack/message-pack-writer.ts"
import {
  type EncodedSimkubeBatch,
  encodeSimkubeBatch,
  SimkubeBatchBuilder,
} from "../../../../src/trace/formats/simkube/simkube-batch.ts"
import {
  formatExactJson,
  type JsonObject,
  type JsonValue,
  MAX_DEPTH,
  memorySpool,
  parseExactJson,
  SimkubeTraceWriter,
  simkubeHash,
  type TrackedObject,
} from "../../../../src/trace/index.ts"
import { rounds } from "../../../harness/effort.ts"
import { jsonObject, jsonValue, objectOf } from "../../json-values.ts"

const tracked: TrackedObject = { podSpecTemplatePaths: [], trackLifecycle: false, skipOwned: false }
const gvks = ["apps/v1.Deployment", "v1.Pod"] as const
const trackedObjects = new Map(gvks.map((gvk) => [gvk, tracked]))
const newWriter = (): SimkubeTraceWriter =>
  new SimkubeTraceWriter({ trackedObjects, startSeconds: 0, spool: memorySpool() })

interface Given {
  readonly gvk: (typeof gvks)[number]
  readonly name: string
  readonly object: JsonObject
}

const given: fc.Arbitrary<Given> = fc
  .record({
    gvk: fc.constantFrom(...gvks),
    name: fc.constantFrom("a", "b", "c"),
    metadata: jsonObject,
    managedFields: jsonValue,
    others: jsonObject,
    spec: jsonValue,
  })
  .map(({ gvk, name, metadata, managedFields, others, spec }) => ({
    gvk,
    name,
    object: objectOf([
      ...Object.entries(others),
      ["metadata", objectOf([...Object.entries(metadata), ["managedFields", managedFields]])],
      ["spec", spec],
    ]),
  }))

const encode = (writer: SimkubeTraceWriter, objects: ReadonlyArray<Given>, memory: number): EncodedSimkubeBatch => {
  const builder = new SimkubeBatchBuilder(new ArrayBuffer(memory))
  for (const { gvk, object } of objects) {
    const type = writer.admit(gvk)
    if (type === undefined) throw new Error(gvk)
    expect(builder.add(type, Buffer.from(formatExactJson(object)))).toBe(true)
  }
  expect(builder.count).toBe(objects.length)
  return encodeSimkubeBatch(builder.finish())
}

const fileOf = (writer: SimkubeTraceWriter): Buffer => Buffer.concat([...writer.finish()])

describe("a batch", () => {
  test("gives the same trace as the writer alone, byte for byte", () => {
    fc.assert(
      fc.property(fc.array(given, { maxLength: 8 }), fc.nat(8), (objects, inSnapshot) => {
        const direct = newWriter()
        const batched = newWriter()
        const encoded = encode(batched, objects, 1024 * 1024)
        expect(encoded.failure).toBeUndefined()
        let start = 0
        objects.forEach(({ gvk, name, object: source }, index) => {
          const named = { gvk, namespace: "n", name }
          const object = parseExactJson(formatExactJson(source)) as JsonObject
          const end = start + (encoded.lengths[index] as number)
          const finished = {
            bytes: encoded.objects.subarray(start, end),
            hash: encoded.hashes[index] as bigint,
            state: encoded.states.subarray(4 * index, 4 * index + 4),
          }
          start = end
          if (index < inSnapshot) {
            direct.addSnapshot({ ...named, object })
            batched.addEncodedSnapshot(named, finished)
          } else {
            direct.add({ ...named, action: "applied", time: index * 300_000, object })
            batched.addEncoded(named, index * 300_000, finished)
          }
        })
        expect(start).toBe(encoded.objects.length)
        expect(fileOf(batched).equals(fileOf(direct))).toBe(true)
      }),
    )
  })

  test("returns its result in the same memory, and in another if the result is longer", () => {
    const object = { metadata: {}, spec: { numbers: Array.from({ length: 100 }, () => 0.5) } }
    const json = formatExactJson(object)
    const type = { apiVersion: "v1", kind: "Pod" }
    for (const [memory, isSame] of [
      [json.length, false],
      [10 * json.length, true],
    ] as const) {
      const buffer = new ArrayBuffer(memory)
      const builder = new SimkubeBatchBuilder(buffer)
      expect(builder.add(type, Buffer.from(json))).toBe(true)
      const encoded = encodeSimkubeBatch(builder.finish())
      expect(encoded.objects.length).toBeGreaterThan(900)
      expect(encoded.objects.buffer === buffer).toBe(isSame)
    }
  })

  test("accepts objects as long as they fit", () => {
    const builder = new SimkubeBatchBuilder(new ArrayBuffer(5))
    const type = { apiVersion: "v1", kind: "Pod" }
    expect([
      builder.add(type, Buffer.from("{}")),
      builder.add(type, Buffer.from("{}")),
      builder.add(type, Buffer.from("{}")),
    ]).toEqual([true, true, false])
    expect(builder.count).toBe(2)
    expect(encodeSimkubeBatch(builder.finish()).lengths.length).toBe(2)
  })

  test.each([
    ["bytes that are not JSON", '{"spec":', "not valid JSON"],
    ["JSON that is not an object", "[1]", "not a JSON object"],
    ["an object that nests too deeply", `{"spec":${"[".repeat(MAX_DEPTH)}${"]".repeat(MAX_DEPTH)}}`, "levels"],
  ])("ends at %s with the reason; what was before it is included", (_, json, detail) => {
    const builder = new SimkubeBatchBuilder(new ArrayBuffer(64 * 1024))
    const type = { apiVersion: "v1", kind: "Pod" }
    for (const source of ["{}", json, '{"spec":{}}']) builder.add(type, Buffer.from(source))
    const alone = new SimkubeBatchBuilder(new ArrayBuffer(64))
    alone.add(type, Buffer.from("{}"))
    const encoded = encodeSimkubeBatch(builder.finish())
    expect(encoded.failure?.index).toBe(1)
    expect(encoded.failure?.detail).toContain(detail)
    expect(Buffer.from(encoded.objects).equals(Buffer.from(encodeSimkubeBatch(alone.finish()).objects))).toBe(true)
  })
})

describe("H of an encoded value", () => {
  test("is H of the value", () => {
    fc.assert(
      fc.property(jsonValue, (value: JsonValue) => {
        expect(hashEncodedValue(encodeMessagePack(value))).toBe(simkubeHash(value))
      }),
      { numRuns: rounds(1000) },
    )
  })

  test("also for long strings, large collections and every size of number", () => {
    const numbers = [
      0,
      1,
      127,
      128,
      255,
      256,
      65535,
      65536,
      2 ** 31,
      2 ** 32 - 1,
      2 ** 32,
      2 ** 53 - 1,
      -0,
      0.5,
      -1e300,
    ]
    const values: JsonValue[] = [
      ...numbers.flatMap((number) => [number, -number]),
      ...[-32, -33, -128, -129, -32768, -32769, -(2 ** 31), -(2 ** 31) - 1, 2n ** 63n, 2n ** 64n - 1n, -(2n ** 63n)],
      ...[31, 32, 47, 48, 255, 256, 65535, 65536, 2_000_000].map((length) => "x".repeat(length)),
      Array.from({ length: 70_000 }, (_, index) => index),
      Object.fromEntries(Array.from({ length: 70_000 }, (_, index) => [`key ${index}`, null])),
    ]
    for (const value of values) expect(hashEncodedValue(encodeMessagePack(value))).toBe(simkubeHash(value))
  })
})
