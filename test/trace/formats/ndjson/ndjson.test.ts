import { readFileSync } from "node:fs"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { GapEvent, ObjectEvent, TraceEvent } from "../../../../src/trace/event.ts"
import {
  formatExactJson,
  NdjsonError,
  type NdjsonHeader,
  type NdjsonItem,
  NdjsonReader,
  NdjsonWriter,
  parseExactJson,
  readNdjson,
  writeNdjson,
} from "../../../../src/trace/index.ts"
import { rounds } from "../../../harness/effort.ts"
import { jsonObject, mutated, text } from "../../json-values.ts"

const header: NdjsonHeader = {
  window: { start: 1_763_700_000_000_000, end: 1_763_700_060_000_000 },
  cut: 12,
  kinds: ["v1.Pod", "apps/v1.Deployment"],
  incomplete: [
    { gvk: "v1.Secret", state: "forbidden" },
    { gvk: "v1.Pod", namespace: "stock", state: "failing" },
  ],
  withoutStatus: ["v1.Service"],
  livesFrom: 1_763_600_000_000_000,
  clusterUid: "6a1f",
}

const objectEvent = (changes: Partial<ObjectEvent> = {}): ObjectEvent => ({
  type: "object",
  sequence: 1,
  time: 1_763_700_000_000_001,
  gvk: "v1.Pod",
  action: "applied",
  uid: "u",
  namespace: "a",
  name: "web",
  resourceVersion: "7",
  object: Buffer.from('{"spec": {"a" : 1.0}}'),
  ...changes,
})

const gap: GapEvent = {
  type: "gap",
  sequence: 3,
  time: 1_763_700_000_000_003,
  gvk: "v1.Pod",
  namespace: "shop",
  fromVersion: "7",
  toVersion: "",
  fromTime: 1,
  toTime: 2,
  reason: "expired",
  detail: 'the server said "410"\n',
}

const written = (events: ReadonlyArray<TraceEvent>, snapshot: ReadonlyArray<ObjectEvent> = []): Buffer =>
  Buffer.concat([...writeNdjson(header, snapshot, events)])

/** Items with an object's bytes copied, since they are reused. */
const read = (...chunks: Uint8Array[]): NdjsonItem[] => {
  const items: NdjsonItem[] = []
  for (const item of readNdjson(chunks))
    items.push(
      item.type === "event" && item.event.type === "object"
        ? { ...item, event: { ...item.event, object: Buffer.from(item.event.object) } }
        : item,
    )
  return items
}

const failure = (run: () => unknown): NdjsonError => {
  try {
    run()
  } catch (error) {
    if (error instanceof NdjsonError) return error
    throw error
  }
  throw new Error("nothing was thrown")
}

const time = fc.maxSafeInteger().map(Math.abs)
const anyObjectEvent: fc.Arbitrary<ObjectEvent> = fc
  .record(
    {
      type: fc.constant("object" as const),
      sequence: time,
      time,
      received: time,
      gvk: text,
      action: fc.constantFrom("applied" as const, "deleted" as const),
      uid: text,
      namespace: text,
      name: fc.oneof(text, fc.constantFrom(',"object":', '"object":{}', 'a,"object":{"b":1}}\n')),
      resourceVersion: text,
      object: jsonObject.map((object) => Buffer.from(formatExactJson(object))),
    },
    {
      requiredKeys: [
        "type",
        "sequence",
        "time",
        "gvk",
        "action",
        "uid",
        "namespace",
        "name",
        "resourceVersion",
        "object",
      ],
    },
  )
  .chain((event) => fc.constantFrom<ObjectEvent>(event, { ...event, action: "vanished", object: Buffer.alloc(0) }))
const anyGap: fc.Arbitrary<GapEvent> = fc.record({
  type: fc.constant("gap" as const),
  sequence: time,
  time,
  gvk: text,
  namespace: text,
  fromVersion: text,
  toVersion: text,
  fromTime: time,
  toTime: time,
  reason: fc.constantFrom("expired", "overload", "stopped", "cluster-restored"),
  detail: text,
})
const anyTrace = fc.tuple(
  fc.array(anyObjectEvent, { maxLength: 5 }),
  fc.array(fc.oneof(anyObjectEvent, anyGap), { maxLength: 8 }),
)

describe("NDJSON traces", () => {
  test("look like this", () => {
    const events = [objectEvent({ sequence: 2, action: "vanished", object: new Uint8Array(0) }), gap]
    expect(written(events, [objectEvent()]).toString().trimEnd().split("\n")).toEqual([
      '{"format":"kubereel","version":1,"window":{"start":1763700000000000,"end":1763700060000000},"cut":12,' +
        '"kinds":["v1.Pod","apps/v1.Deployment"],"incomplete":[{"gvk":"v1.Secret","state":"forbidden"},' +
        '{"gvk":"v1.Pod","namespace":"stock","state":"failing"}],"withoutStatus":["v1.Service"],"livesFrom":1763600000000000,"clusterUid":"6a1f"}',
      '{"sequence":1,"time":1763700000000001,"action":"applied","gvk":"v1.Pod","uid":"u","namespace":"a","name":"web",' +
        '"resourceVersion":"7","snapshot":true,"object":{"spec": {"a" : 1.0}}}',
      '{"sequence":2,"time":1763700000000001,"action":"vanished","gvk":"v1.Pod","uid":"u","namespace":"a","name":"web",' +
        '"resourceVersion":"7"}',
      '{"sequence":3,"time":1763700000000003,"action":"gap","gvk":"v1.Pod","namespace":"shop","fromVersion":"7","toVersion":"",' +
        '"fromTime":1,"toTime":2,"reason":"expired","detail":"the server said \\"410\\"\\n"}',
      '{"end":{"snapshot":1,"events":1,"gaps":1}}',
    ])
  })

  test("with changes that were received late name them in the header and say when each was received", () => {
    const late: NdjsonHeader["late"] = [
      {
        ...{ gvk: "v1.Pod", namespace: "shop", notBefore: 1, notAfter: 5, receivedFrom: 6, receivedTo: 7, events: 2 },
        cause: "disconnected",
      },
    ]
    const bytes = Buffer.concat([...writeNdjson({ ...header, late }, [], [objectEvent({ time: 3, received: 6 })])])
    const [first, event] = bytes.toString().split("\n")
    expect(first).toContain(
      '"late":[{"gvk":"v1.Pod","namespace":"shop","notBefore":1,"notAfter":5,"receivedFrom":6,"receivedTo":7,"events":2,"cause":"disconnected"}]',
    )
    expect(event).toContain('{"sequence":1,"time":3,"received":6,"action":"applied",')
    expect(read(bytes).slice(0, 2)).toEqual([
      { type: "header", ...header, late },
      { type: "event", event: objectEvent({ time: 3, received: 6 }), isSnapshot: false },
    ])
    const byReceipt = Buffer.concat([...writeNdjson({ ...header, times: "received" }, [], [])])
    expect(read(byReceipt)[0]).toEqual({ type: "header", ...header, times: "received" })
  })

  test.each([
    ["late ranges that are no list", '"late":{}', "late is not an array"],
    [
      "a late range without a cause",
      '"late":[{"gvk":"v1.Pod","namespace":"","notBefore":1,"notAfter":1,"receivedFrom":1,"receivedTo":1,"events":1}]',
      "cause is none of",
    ],
    ["unknown times", '"times":"guessed"', "times is none of happened, received"],
  ])("with %s are refused", (_, field, words) => {
    const [first = "", ...rest] = written([]).toString().split("\n")
    const changed = [first.replace('"kinds":', `${field},"kinds":`), ...rest].join("\n")
    expect(failure(() => read(Buffer.from(changed))).message).toContain(words)
  })

  test("are read back as they were written, objects byte for byte, wherever the chunks end", () => {
    fc.assert(
      fc.property(
        anyTrace,
        fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1 }),
        ([snapshot, events], sizes) => {
          const bytes = written(events, snapshot)
          const chunks: Uint8Array[] = []
          for (let start = 0, turn = 0; start < bytes.length; turn++) {
            const size = sizes[turn % sizes.length] as number
            chunks.push(bytes.subarray(start, start + size))
            start += size
          }
          const gaps = events.filter((event) => event.type === "gap").length
          expect(read(...chunks)).toEqual([
            { type: "header", ...header },
            ...snapshot.map((event) => ({ type: "event", event, isSnapshot: true })),
            ...events.map((event) => ({ type: "event", event, isSnapshot: false })),
            { type: "end", snapshot: snapshot.length, events: events.length - gaps, gaps },
          ])
        },
      ),
    )
  })

  test("contain the objects of a real watch byte for byte", () => {
    const lines = readFileSync(new URL("../../../data/recording-2/trainings.watch", import.meta.url), "utf8").split(
      "\n",
    )
    const objects = lines.flatMap((line) => /"object":(.*)\}$/.exec(line)?.[1] ?? [])
    const events = objects.map((object, sequence) => objectEvent({ sequence, object: Buffer.from(object) }))
    const readBack = read(written(events)).flatMap((item) =>
      item.type === "event" && item.event.type === "object" ? [Buffer.from(item.event.object).toString()] : [],
    )
    expect(objects.length).toBeGreaterThan(3)
    expect(readBack).toEqual(objects)
  })

  test("put an indented object on one line", () => {
    const indented = objectEvent({ object: Buffer.from('{\n  "a": "b  c"\n}\n') })
    expect(written([indented]).toString().split("\n")[1]).toMatch(/,"object":\{"a":"b {2}c"\}\}$/)
  })

  test("come in chunks of about 64 KiB with memory of their own, whatever the objects", () => {
    const object = Buffer.from(`{"data":"${"x".repeat(3000)}"}`)
    const large = objectEvent({ object: Buffer.from(`{"data":"${"x".repeat(300_000)}"}`) })
    function* events(): Generator<ObjectEvent> {
      for (let sequence = 0; sequence < 200; sequence++) {
        // Reused: overwritten before the next event is taken.
        const lent = Buffer.from(object)
        yield objectEvent({ sequence, object: lent })
        lent.fill(0)
      }
      yield large
    }
    const chunks = [...writeNdjson(header, [], events())]
    expect(chunks.length).toBeGreaterThan(9)
    expect(chunks.slice(0, -2).map((chunk) => Math.floor(chunk.length / 65_536))).toEqual(
      chunks.slice(0, -2).map(() => 1),
    )
    expect(new Set(chunks.map((chunk) => chunk.buffer)).size).toBe(chunks.length)
    expect(read(...chunks)).toHaveLength(203)
  })

  test("can be written one event at a time", () => {
    const writer = new NdjsonWriter(header)
    writer.addSnapshot(objectEvent())
    writer.add(gap)
    expect(writer.take()).toBeUndefined()
    expect(Buffer.compare(writer.end(), written([gap], [objectEvent()]))).toBe(0)
  })
})

describe("reading NDJSON traces", () => {
  const good = written([objectEvent(), gap], [objectEvent()])
  const lines = good.toString().trimEnd().split("\n")
  const withLine = (index: number, line: string): Buffer =>
    Buffer.from([...lines.slice(0, index), line, ...lines.slice(index + 1)].map((one) => `${one}\n`).join(""))

  test("accepts lines rewritten by another tool", () => {
    const value = parseExactJson(lines[1] as string) as Record<string, unknown>
    const reordered = `  ${formatExactJson(Object.fromEntries(Object.entries(value).reverse()) as never)}\r`
    const item = read(withLine(1, reordered))[1]
    if (item?.type !== "event" || item.event.type !== "object") throw new Error("no event")
    expect(item.isSnapshot).toBe(true)
    expect(parseExactJson(item.event.object)).toEqual(parseExactJson('{"spec":{"a":1.0}}'))
    expect({ ...item.event, object: undefined }).toEqual({ ...objectEvent(), object: undefined })
  })

  test("accepts empty lines and a last line without its line feed", () => {
    const sparse = Buffer.from(lines.join("\n\n\r\n"))
    expect(read(sparse)).toEqual(read(good))
    expect(read(Buffer.concat([Buffer.from("\n".repeat(70_000)), good]))).toEqual(read(good))
  })

  test("counts empty lines, also those that begin and end with a piece of the file", () => {
    const reader = new NdjsonReader()
    const push = (text: string): ReadonlyArray<NdjsonItem> => [...reader.push(Buffer.from(text))]
    push("\n\n")
    push(`\n${lines[0]}\n\n`)
    push("\n")
    const offset = 6 + Buffer.byteLength(lines[0] as string)
    expect(failure(() => push("\n{\n"))).toMatchObject({ line: 8, offset: offset + 1, reason: "json" })
  })

  test("takes no time for empty lines: 200 MB of them took 25 s", () => {
    const start = process.threadCpuUsage()
    const reader = new NdjsonReader()
    const piece = Buffer.alloc(65_536, "\n")
    for (let bytes = 0; bytes < 30_000_000; bytes += piece.length) expect([...reader.push(piece)]).toEqual([])
    const { user, system } = process.threadCpuUsage(start)
    // One at a time they took 3.7 s.
    expect((user + system) / 1e6).toBeLessThan(1.5)
  })

  test("reports a file cut anywhere as truncated, and names the line", () => {
    const ends: number[] = []
    for (const line of lines) ends.push((ends.at(-1) ?? -1) + 1 + Buffer.byteLength(line))
    for (let length = 0; length < good.length - 1; length++) {
      const error = failure(() => read(good.subarray(0, length)))
      expect(error.reason).toBe("truncated")
      expect(error.line).toBe(ends.filter((end) => end <= length).length + 1)
    }
  })

  test("broken bytes fail with its own error or are read", () => {
    const files = anyTrace.map(([snapshot, events]) => written(events, snapshot))
    fc.assert(
      fc.property(mutated(files), (bytes) => {
        try {
          read(bytes)
        } catch (error) {
          expect(error).toBeInstanceOf(NdjsonError)
        }
      }),
      { numRuns: rounds(300) },
    )
  })

  test.each<[string, number, string, string, string]>([
    ["another file", 0, '{"apiVersion":"v1"}', "format", 'not a trace: no "format":"kubereel"'],
    ["another version", 0, '{"format":"kubereel","version":2}', "format", "version 2, expected 1"],
    [
      "a header without window",
      0,
      '{"format":"kubereel","version":1,"kinds":[],"incomplete":[]}',
      "shape",
      "window is not an object",
    ],
    ["a line that is not JSON", 1, '{"sequence":', "json", "not valid JSON (syntax)"],
    ["a line that is not an object", 1, "[]", "shape", "the line is not an object"],
    ["an object member that is not an object", 1, '{"sequence":1,"object":[]}', "shape", "object is not an object"],
    ["a missing field", 1, '{"sequence":1,"time":2}', "shape", "gvk is not a string"],
    ["a sequence beyond 2^53", 1, '{"sequence":9007199254740993}', "shape", "sequence is not an integer"],
    [
      "an unknown action",
      1,
      '{"sequence":1,"time":2,"gvk":"v1.Pod","action":"patched"}',
      "shape",
      "action is none of applied, deleted, vanished",
    ],
    [
      "a wrong count",
      4,
      '{"end":{"snapshot":1,"events":2,"gaps":1}}',
      "counts",
      'counts 2 lines of "events", but there are 1',
    ],
    ["an end of another shape", 4, '{"end":7}', "shape", "end is not an object"],
  ])("rejects %s and names the line", (_, index, line, reason, detail) => {
    const error = failure(() => read(withLine(index, line)))
    expect(error).toMatchObject({ line: index + 1, reason })
    expect(error.detail).toContain(detail)
    expect(error.message).toBe(`line ${index + 1}: ${error.detail}`)
  })

  test("rejects a mark and a reason of another type", () => {
    const event = lines[2] as string
    expect(failure(() => read(withLine(2, event.replace('"object"', '"snapshot":1,"object"')))).detail).toBe(
      "snapshot is not a boolean",
    )
    expect(failure(() => read(withLine(3, (lines[3] as string).replace("expired", "holiday")))).detail).toBe(
      "reason is none of expired, overload, stopped, cluster-restored, damaged, dropped-before-upload, unlogged",
    )
  })

  test("rejects lines after the last one, and a second header", () => {
    expect(failure(() => read(Buffer.concat([good, good])))).toMatchObject({ line: 6, reason: "shape" })
    expect(failure(() => read(withLine(1, lines[0] as string)))).toMatchObject({ line: 2, reason: "shape" })
  })

  test("never fills the memory with one line", () => {
    const reader = new NdjsonReader()
    const chunk = new Uint8Array(16 * 1024 * 1024).fill(0x20)
    const error = failure(() => {
      for (let time = 0; time < 5; time++) for (const _ of reader.push(chunk)) throw new Error("an item")
    })
    expect(error).toMatchObject({ line: 1, reason: "length" })
  })
})
