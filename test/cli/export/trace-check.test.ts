import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { checkTrace, type TraceFormat, type TraceVerdict } from "../../../src/cli/export/trace-check.ts"
import type { ObjectEvent } from "../../../src/trace/event.ts"
import { NdjsonWriter } from "../../../src/trace/formats/ndjson/ndjson-writer.ts"
import { MessagePackExtent } from "../../../src/trace/formats/simkube/message-pack/message-pack-extent.ts"
import { encodeMessagePack } from "../../../src/trace/formats/simkube/message-pack/message-pack-writer.ts"

/** Cuts bytes at the given places. */
const pieces = (bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] => {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((left, right) => left - right)
  return [0, ...places].map((from, index) => bytes.subarray(from, places[index] ?? bytes.length))
}

const verdict = (format: TraceFormat, parts: readonly Uint8Array[]): TraceVerdict => {
  const check = checkTrace(format)
  for (const part of parts) {
    const reason = check.add(part)
    if (reason !== undefined) return { _tag: "Cut", reason }
  }
  return check.finish()
}

const event = (sequence: number, object: string): ObjectEvent => ({
  type: "object",
  sequence,
  time: 1_795_255_200_000_000 + sequence,
  gvk: "v1.ConfigMap",
  action: object === "" ? "vanished" : "applied",
  uid: `uid-${sequence}`,
  namespace: "shop",
  name: `name-${sequence}`,
  resourceVersion: String(sequence),
  object: Buffer.from(object),
})

const ndjson = (objects: readonly string[]): Buffer => {
  const writer = new NdjsonWriter({ window: { start: 0, end: 1 }, cut: 1, kinds: ["v1.ConfigMap"], incomplete: [] })
  const parts: Uint8Array[] = []
  for (const [index, object] of objects.entries()) {
    if (index % 3 === 0) writer.addSnapshot(event(index, object))
    else writer.add(event(index, object))
    const part = writer.take()
    if (part !== undefined) parts.push(part)
  }
  return Buffer.concat([...parts, writer.end()])
}

const anyCuts = fc.array(fc.nat(), { maxLength: 5 })
const anyObjects = fc.array(
  fc.oneof(
    fc.constant(""),
    fc.dictionary(fc.string(), fc.string(), { maxKeys: 3 }).map((object) => JSON.stringify(object)),
    // An object that looks like the last line.
    fc.constant('{"end":{"snapshot":1,"events":0,"gaps":0}}'),
  ),
  { maxLength: 20 },
)

describe("an NDJSON trace", () => {
  test("is complete for any division into pieces, and its events are counted", () => {
    fc.assert(
      fc.property(anyObjects, anyCuts, (objects, cuts) => {
        expect(verdict("ndjson", pieces(ndjson(objects), cuts))).toEqual({
          _tag: "Whole",
          contents: { objects: Math.ceil(objects.length / 3), events: Math.floor((objects.length * 2) / 3) },
        })
      }),
    )
  })

  test("that is truncated anywhere is never complete", () => {
    const objects = ['{"data":{"a":"b"}}', "", '{"end":{"snapshot":1,"events":1,"gaps":0}}', '{"x":"é\\n"}']
    const whole = ndjson(objects)
    for (let length = 0; length < whole.length; length++)
      expect(verdict("ndjson", [whole.subarray(0, length)])).toMatchObject({ _tag: "Cut" })
  })

  test("with a missing, duplicate or additional line is not complete", () => {
    const lines = ndjson(['{"a":1}', '{"b":2}']).toString().split("\n").slice(0, -1)
    const judge = (changed: readonly string[]): TraceVerdict =>
      verdict("ndjson", [Buffer.from(`${changed.join("\n")}\n`)])
    expect(judge(lines)._tag).toBe("Whole")
    expect(judge(lines.toSpliced(1, 1))).toEqual({ _tag: "Cut", reason: "it has 3 lines instead of 4" })
    expect(judge(lines.toSpliced(1, 0, lines[1] ?? ""))).toEqual({ _tag: "Cut", reason: "it has 5 lines instead of 4" })
    expect(judge([...lines, "{}"])).toEqual({ _tag: "Cut", reason: "the last line is missing" })
  })

  test.each([
    ["a web page", "<html>\n<body>busy</body></html>\n", "the response is not a trace"],
    ["other JSON", '{"kind":"Status"}\n', "the response is not a trace"],
    ["nothing", "", "the response is empty or not a trace"],
    ["one line without an end", "busy", "the response is empty or not a trace"],
    ["an endless line", "x".repeat(2_000_000), "the response is not a trace"],
    ["null", "null\n", "the response is not a trace"],
  ])("%s is none", (_, text, reason) => {
    expect(verdict("ndjson", [Buffer.from(text)])).toEqual({ _tag: "Cut", reason })
  })
})

const messagePackValue = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom(null, true, false),
    fc.maxSafeInteger(),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
    fc.double({ noNaN: true }),
    fc.string(),
    fc.string({ minLength: 200, maxLength: 400 }),
    fc.uint8Array({ maxLength: 300 }),
    fc.array(tie("value"), { maxLength: 20 }),
    fc.dictionary(fc.string(), tie("value"), { maxKeys: 20 }),
  ),
})).value as fc.Arbitrary<Parameters<typeof encodeMessagePack>[0]>

describe("a MessagePack value", () => {
  const extentOf = (parts: readonly Uint8Array[]): MessagePackExtent => {
    const extent = new MessagePackExtent()
    for (const part of parts) extent.add(part)
    return extent
  }

  test("is complete at its end and nowhere before, for any division into pieces", () => {
    fc.assert(
      fc.property(messagePackValue, anyCuts, fc.nat(), (value, cuts, length) => {
        const bytes = encodeMessagePack(value)
        expect(extentOf(pieces(bytes, cuts))).toMatchObject({ isWhole: true, isBroken: false })
        const early = bytes.subarray(0, length % bytes.length)
        expect(extentOf([early]).isWhole).toBe(false)
        expect(extentOf([bytes, Uint8Array.of(0xc0)])).toMatchObject({ isWhole: false, isBroken: true })
      }),
    )
  })

  test.each([
    ["fixext 1", [0xd4, 1, 2]],
    ["fixext 16", [0xd8, 1, ...new Array<number>(16).fill(0)]],
    ["ext 8", [0xc7, 3, 1, 9, 9, 9]],
    ["ext 16", [0xc8, 0, 1, 1, 9]],
    ["ext 32", [0xc9, 0, 0, 0, 0, 1]],
    ["map 32", [0xdf, 0, 0, 0, 1, 0xa0, 0xc0]],
    ["array 32", [0xdd, 0, 0, 0, 2, 0xc2, 0xe0]],
    ["string 32", [0xdb, 0, 0, 0, 1, 0x61]],
    ["float 32", [0xca, 0, 0, 0, 0]],
  ])("of form %s is measured, though no writer of ours makes it", (_, bytes) => {
    for (let length = 0; length < bytes.length; length++)
      expect(extentOf([Uint8Array.from(bytes.slice(0, length))]).isWhole).toBe(false)
    expect(extentOf([Uint8Array.from(bytes)]).isWhole).toBe(true)
  })

  test("never begins with the one header that is not used", () => {
    expect(extentOf([Uint8Array.of(0xc1)]).isBroken).toBe(true)
  })
})

describe("a SimKube trace", () => {
  const trace = encodeMessagePack({ version: 2, config: {}, events: [], index: {}, pod_lifecycles: {} })

  test("is complete if its one map is", () => {
    expect(verdict("simkube", [trace])).toEqual({ _tag: "Whole", contents: undefined })
    expect(verdict("simkube", [trace.subarray(0, -1)])).toEqual({ _tag: "Cut", reason: "the trace is truncated" })
    expect(verdict("simkube", [])).toEqual({ _tag: "Cut", reason: "the trace is truncated" })
  })

  test.each(["<html>", "not ready\n", "{}"])("is not %j", (text) => {
    expect(verdict("simkube", [Buffer.from(text)])).toEqual({ _tag: "Cut", reason: "the response is not a trace" })
  })

  test("must not be followed by anything", () => {
    expect(verdict("simkube", [trace, Buffer.from("\n")])).toEqual({
      _tag: "Cut",
      reason: "the response is not a trace, or data follows the trace",
    })
  })
})
