import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  decodeMessagePack,
  encodeMessagePack,
  IntegralFloat,
  type MessagePackValue,
  readSimkubeTrace,
  SimkubeTraceError,
  type SimkubeTraceItem,
  SimkubeTraceReader,
} from "../../../../src/trace/index.ts"
import { rounds } from "../../../harness/effort.ts"
import { mutated } from "../../json-values.ts"
import { goldenTrace } from "../../recording.ts"

const read = (bytes: Uint8Array): SimkubeTraceItem[] => [...readSimkubeTrace([bytes])]

const failure = (run: () => unknown): SimkubeTraceError => {
  try {
    run()
  } catch (error) {
    if (error instanceof SimkubeTraceError) return error
    throw error
  }
  throw new Error("nothing was thrown")
}

const map = (entries: Readonly<Record<string, MessagePackValue>>): ReadonlyMap<string, MessagePackValue> =>
  new Map(Object.entries(entries))

const pod = map({ apiVersion: "v1", kind: "Pod", metadata: map({ name: "p", namespace: "a" }) })
const event = map({ ts: 7, applied_objs: [pod], deleted_objs: [] })
const podObject = { apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "a" } }

/** A small trace, with some sections replaced; `undefined` removes one. */
const trace = (changes: Readonly<Record<string, MessagePackValue | undefined>> = {}): Uint8Array => {
  const sections: Record<string, MessagePackValue | undefined> = {
    version: 2,
    config: map({ trackedObjects: map({ "v1.Pod": map({}) }) }),
    events: [event],
    index: map({ "v1.Pod": map({ "a/p": 5 }) }),
    pod_lifecycles: new Map<MessagePackValue, MessagePackValue>([
      [["v1.Pod", "a/p"], new Map<MessagePackValue, MessagePackValue>([[9n, ["Empty", map({ Running: 3 })]]])],
    ]),
    ...changes,
  }
  const present = Object.entries(sections).filter(
    (entry): entry is [string, MessagePackValue] => entry[1] !== undefined,
  )
  return encodeMessagePack(new Map(present))
}

const smallTrace: SimkubeTraceItem[] = [
  {
    type: "config",
    trackedObjects: new Map([["v1.Pod", { podSpecTemplatePaths: [], trackLifecycle: false, skipOwned: false }]]),
  },
  { type: "event", seconds: 7 },
  { type: "applied", seconds: 7, object: podObject },
  { type: "index", gvk: "v1.Pod", name: "a/p", hash: 5n },
  {
    type: "lifecycles",
    gvk: "v1.Pod",
    owner: "a/p",
    pods: new Map([[9n, [{ state: "empty" }, { state: "running", start: 3 }]]]),
  },
]

describe("reading a SimKube trace", () => {
  test("returns the contents of the file, in order", () => {
    expect(read(trace())).toEqual(smallTrace)
  })

  test("returns the counts of SimKube's own traces", () => {
    const counts = (recording: "recording" | "recording-2"): Record<string, number> => {
      const found: Record<string, number> = {}
      for (const item of read(goldenTrace(recording))) found[item.type] = (found[item.type] ?? 0) + 1
      return found
    }
    expect(counts("recording")).toEqual({ config: 1, event: 6, applied: 8, deleted: 3, index: 6, lifecycles: 3 })
    expect(counts("recording-2")).toEqual({ config: 1, event: 6, applied: 7, deleted: 3, index: 5, lifecycles: 5 })
  })

  test("returns the same items wherever the chunks end", () => {
    const golden = goldenTrace("recording-2")
    const whole = read(golden)
    const sizes = fc.array(fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 4000 })), {
      minLength: 1,
    })
    fc.assert(
      fc.property(sizes, (list) => {
        const chunks: Uint8Array[] = []
        for (let start = 0, turn = 0; start < golden.length; turn++) {
          const size = list[turn % list.length] as number
          chunks.push(golden.subarray(start, start + size))
          start += size
        }
        expect([...readSimkubeTrace(chunks)]).toEqual(whole)
      }),
      { numRuns: 30 },
    )
  })

  test("returns items as soon as their bytes have arrived", () => {
    const golden = goldenTrace("recording")
    const reader = new SimkubeTraceReader()
    const early = [...reader.push(golden.subarray(0, 5000))]
    expect(early.filter((item) => item.type === "applied").length).toBeGreaterThan(2)
    const late = [...reader.push(golden.subarray(5000)), ...reader.end()]
    expect([...early, ...late]).toEqual(read(golden))
  })

  test("a chunk may be overwritten after it was pushed", () => {
    const reader = new SimkubeTraceReader()
    const bytes = trace()
    const items: SimkubeTraceItem[] = []
    for (const byte of bytes) {
      const lent = Uint8Array.of(byte)
      items.push(...reader.push(lent))
      lent[0] = 0xc1
    }
    items.push(...reader.end())
    expect(items).toEqual(smallTrace)
  })

  test("bytes after the end are ignored, as in SimKube", () => {
    const reader = new SimkubeTraceReader()
    const items = [...reader.push(Buffer.concat([trace(), Uint8Array.of(0xc1, 0xc1)]))]
    expect([...items, ...reader.push(Uint8Array.of(0xc1)), ...reader.end()]).toEqual(smallTrace)
  })

  test("every shortened trace is truncated", () => {
    const bytes = trace()
    for (let length = 0; length < bytes.length; length++)
      expect(failure(() => read(bytes.subarray(0, length))).reason).toBe("truncated")
  })

  test("broken bytes fail with its own error or are read", () => {
    const golden = goldenTrace("recording-2")
    fc.assert(
      fc.property(mutated(fc.constantFrom(trace(), golden, golden.subarray(golden.length - 900))), (bytes) => {
        try {
          read(bytes)
        } catch (error) {
          expect(error).toBeInstanceOf(SimkubeTraceError)
        }
      }),
      { numRuns: rounds(300) },
    )
  })

  test.each<[string, Readonly<Record<string, MessagePackValue>>]>([
    [
      "sections in any order",
      Object.fromEntries([...(decodeMessagePack(trace()) as Map<string, MessagePackValue>)].reverse()),
    ],
    ["unknown keys at the top", { ...sectionsOf(trace()), extra: [map({ deep: [null] })] }],
    ["unknown keys in an event", { events: [map({ ts: 7, applied_objs: [pod], extra: "x", deleted_objs: [] })] }],
    ["an event whose ts comes last", { events: [map({ deleted_objs: [], applied_objs: [pod], extra: 1, ts: 7 })] }],
    [
      "an event whose ts comes after something unknown",
      { events: [map({ ts: 7, extra: 1, deleted_objs: [], applied_objs: [pod] })] },
    ],
    ["unknown keys in the configuration", { config: map({ trackedObjects: map({ "v1.Pod": map({}) }), extra: 1 }) }],
  ])("accepts %s", (_, changes) => {
    const items = "version" in changes ? read(encodeMessagePack(map(changes))) : read(trace(changes))
    const byType = (list: ReadonlyArray<SimkubeTraceItem>) => [...list].sort((a, b) => a.type.localeCompare(b.type))
    expect(byType(items)).toEqual(byType(smallTrace))
  })

  test("accepts a trace without events, negative times, and empty objects", () => {
    expect(read(trace({ events: [] })).filter((item) => item.type === "event")).toEqual([])
    const events = [map({ ts: -5, applied_objs: [map({})], deleted_objs: [pod] })]
    expect(read(trace({ events })).slice(1, 4)).toEqual([
      { type: "event", seconds: -5 },
      { type: "applied", seconds: -5, object: {} },
      { type: "deleted", seconds: -5, object: podObject },
    ])
  })

  test("accepts a configuration that today's SimKube rejects", () => {
    const config = map({ trackedObjects: map({ "v1.ServiceAccount": map({}), "apps/v1.ReplicaSet": map({ new: 1 }) }) })
    const [item] = read(trace({ config }))
    expect(item?.type === "config" && [...item.trackedObjects.keys()]).toEqual([
      "v1.ServiceAccount",
      "apps/v1.ReplicaSet",
    ])
  })

  test.each<[string, Readonly<Record<string, MessagePackValue | undefined>>, string]>([
    ["version 1", { version: 1 }, "version"],
    ["version 3", { version: 3 }, "version"],
    ["no version", { version: undefined }, "malformed"],
    ["no index", { index: undefined }, "malformed"],
    ["a float time", { events: [map({ ts: new IntegralFloat(7), applied_objs: [], deleted_objs: [] })] }, "malformed"],
    ["a time beyond 2^53", { events: [map({ ts: 2n ** 60n, applied_objs: [], deleted_objs: [] })] }, "malformed"],
    ["an event without ts", { events: [map({ applied_objs: [], deleted_objs: [] })] }, "malformed"],
    ["an event without applied_objs", { events: [map({ ts: 1, deleted_objs: [] })] }, "malformed"],
    ["an event without deleted_objs", { events: [map({ ts: 1, applied_objs: [] })] }, "malformed"],
    ["an event that is an array", { events: [[7, [], []]] }, "malformed"],
    ["an object that is not a map", { events: [map({ ts: 1, applied_objs: ["x"], deleted_objs: [] })] }, "malformed"],
    [
      "an integer key inside an object",
      { events: [map({ ts: 1, applied_objs: [new Map([[1, 2]])], deleted_objs: [] })] },
      "malformed",
    ],
    ["events that are not an array", { events: map({}) }, "malformed"],
    ["a hash that is not an integer", { index: map({ "v1.Pod": map({ "a/p": "5" }) }) }, "malformed"],
    ["a configuration of another shape", { config: map({ trackedObjects: [] }) }, "malformed"],
    [
      "a string where the pair of gvk and name is expected",
      { pod_lifecycles: map({ "v1.Pod": map({}) }) },
      "malformed",
    ],
    [
      "a string where the stable hash is expected",
      { pod_lifecycles: new Map([[["v1.Pod", "a/p"], map({ "9": [] })]]) },
      "malformed",
    ],
    ["a lifecycle with named fields", lifecycles(map({ Finished: map({ start_ts: 1, end_ts: 2 }) })), "malformed"],
    ["a lifecycle of an unknown state", lifecycles("Unheard"), "malformed"],
    ["a lifecycle of two states", lifecycles(map({ Running: 1, Finished: [1, 2] })), "malformed"],
  ])("rejects %s", (_, changes, reason) => {
    expect(failure(() => read(trace(changes))).reason).toBe(reason)
  })

  test("rejects the arrays of version 1 by name", () => {
    expect(failure(() => read(encodeMessagePack([map({}), [], map({}), map({})]))).message).toBe(
      "version SimKube trace at byte 0: version 1, which SimKube up to 1.1.1 wrote and no later one reads",
    )
  })

  test("rejects a repeated section", () => {
    const twice = Buffer.from(trace({ more: 1, moar: 2 }))
      .toString("latin1")
      .replace("moar", "more")
    expect(failure(() => read(Buffer.from(twice, "latin1")))).toMatchObject({
      reason: "malformed",
      detail: 'two values for "more"',
    })
  })

  test("reports the byte of the file at which the problem starts, however far in", () => {
    const bytes = Buffer.from(trace({ extra: "x".repeat(100_000), version: undefined, zzz: 1 }))
    bytes[bytes.length - 1] = 0xc1
    const chunks = [bytes.subarray(0, 10), bytes.subarray(10, 90_000), bytes.subarray(90_000)]
    expect(failure(() => [...readSimkubeTrace(chunks)])).toMatchObject({
      reason: "malformed",
      offset: bytes.length - 1,
      detail: "the type byte c1, which is never used",
    })
  })
})

function lifecycles(value: MessagePackValue): Readonly<Record<string, MessagePackValue>> {
  return { pod_lifecycles: new Map([[["v1.Pod", "a/p"], new Map([[9, [value]]])]]) }
}
function sectionsOf(bytes: Uint8Array): Record<string, MessagePackValue> {
  return Object.fromEntries(decodeMessagePack(bytes) as Map<string, MessagePackValue>)
}
