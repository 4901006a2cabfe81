import { readFileSync } from "node:fs"
import fc from "fast-check"
import protobuf from "protobufjs"
import { describe, expect, test } from "vitest"
import type { FrameEvent } from "../../src/wire/frame-event.ts"
import { progressFields } from "../../src/wire/namespace-progress.ts"
import {
  gapFields,
  lateRangeFields,
  newObjectFields,
  OBJECTS_TAG,
  observationFields,
  podLifeFields,
} from "../../src/wire/observation-fields.ts"
import {
  decodeColumns,
  decodeObservations,
  type Gap,
  MalformedFrameError,
  type NewObject,
  type Observations,
  ObservationsBuilder,
  type PodLife,
  splitObservations,
} from "../../src/wire/observations.ts"
import type { NamespacesNews } from "../../src/wire/observations-builder.ts"
import { rounds } from "../harness/effort.ts"
import { frameEvent } from "./frame-events.ts"

const GVK = "apps/v1.Deployment"
const START = 1_763_700_000_000_000

interface SampleEvent {
  readonly action: 1 | 2 | 3
  readonly number: number
  readonly time: number
  readonly version: number | bigint | string
  readonly fingerprint: readonly [low: number, high: number]
  readonly object: Uint8Array
}

interface SampleFrame {
  readonly epoch: number
  readonly events: ReadonlyArray<SampleEvent>
  readonly objects: ReadonlyArray<NewObject>
  readonly gaps: ReadonlyArray<Gap>
  readonly podLives: ReadonlyArray<PodLife>
  readonly completeThrough: string
  readonly namespaces: NamespacesNews
}

const sharedSlab = (bytes: number): Buffer => Buffer.from(new SharedArrayBuffer(bytes))

const write = (frame: SampleFrame, slab = sharedSlab(1 << 20), builder = new ObservationsBuilder(GVK)): Buffer => {
  builder.begin(slab, frame.epoch)
  for (const object of frame.objects) expect(builder.addObject(object)).toBe(true)
  for (const event of frame.events) {
    const [fingerprintLow, fingerprintHigh] = event.fingerprint
    const { action, number: objectNumber, time: timeMicros, version, object: bytes } = event
    const written = { action, objectNumber, timeMicros, version, fingerprintLow, fingerprintHigh, bytes }
    expect(builder.append(frameEvent(written))).toBe(true)
  }
  for (const gap of frame.gaps) expect(builder.addGap(gap)).toBe(true)
  for (const life of frame.podLives) expect(builder.addPodLife(life)).toBe(true)
  expect(builder.completeThrough(frame.completeThrough)).toBe(true)
  expect(builder.namespaces(frame.namespaces)).toBe(true)
  const bound = builder.byteLength
  const used = builder.finish()
  expect(used).toBeLessThanOrEqual(bound)
  return slab.subarray(0, used)
}

const read = (observations: Observations): SampleFrame => ({
  epoch: observations.epoch,
  events: Array.from({ length: observations.count }, (_, index) => ({
    action: observations.action(index),
    number: observations.objectNumber(index),
    time: observations.time(index),
    version: observations.hasOpaqueVersions
      ? observations.resourceVersionText(index)
      : observations.resourceVersion(index),
    fingerprint: [observations.fingerprintLow(index), observations.fingerprintHigh(index)] as const,
    object: new Uint8Array(observations.object(index)),
  })),
  objects: Array.from({ length: observations.newObjectCount }, (_, index) => {
    const { ownerReferences, ...object } = observations.newObject(index)
    return ownerReferences === undefined ? object : { ...object, ownerReferences: new Uint8Array(ownerReferences) }
  }),
  gaps: Array.from({ length: observations.gapCount }, (_, index) => observations.gap(index)),
  podLives: Array.from({ length: observations.podLifeCount }, (_, index) => {
    const { ownerReferences, ...life } = observations.podLife(index)
    return ownerReferences === undefined ? life : { ...life, ownerReferences: new Uint8Array(ownerReferences) }
  }),
  completeThrough: observations.completeThrough,
  namespaces: {
    moved: Array.from({ length: observations.namespaceCount }, (_, index) => observations.namespace(index)),
    left: observations.leftNamespaces,
    isComplete: observations.isComplete,
    livesLag: observations.livesLag,
  },
})

const anyText = fc.oneof(fc.string({ unit: "grapheme", maxLength: 40 }), fc.string({ maxLength: 300 }))
const uint32 = fc.integer({ min: 0, max: 0xffff_ffff })
const integerVersion = fc
  .oneof(fc.nat(), fc.maxSafeInteger().map(Math.abs), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }))
  .map((version) => (version <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(version) : version))

const anyEvents = (version: fc.Arbitrary<number | bigint | string>): fc.Arbitrary<ReadonlyArray<SampleEvent>> =>
  fc
    .array(
      fc.record({
        action: fc.constantFrom(1 as const, 2 as const, 3 as const),
        number: uint32,
        time: fc.oneof(fc.constant(0), fc.nat(2_000_000), uint32),
        version,
        fingerprint: fc.tuple(uint32, uint32),
        object: fc.uint8Array({ maxLength: 300 }),
      }),
      { maxLength: 200 },
    )
    .map((events) => {
      let time = START
      return events.map((event) => {
        time += event.time
        return { ...event, time, object: event.action === 3 ? new Uint8Array(0) : event.object }
      })
    })

const anyGap: fc.Arbitrary<Gap> = fc.record(
  {
    fromVersion: anyText,
    toVersion: anyText,
    fromTime: fc.maxSafeInteger().map(Math.abs),
    toTime: fc.maxSafeInteger().map(Math.abs),
    reason: fc.constantFrom("expired", "overload", "stopped", "cluster-restored"),
    detail: anyText,
    namespace: anyText,
    gvk: fc.constantFrom("lifecycle/v1.Pod", "v1.Pod"),
  },
  { requiredKeys: ["fromVersion", "toVersion", "fromTime", "toTime", "reason", "detail", "namespace"] },
)

const anyPodLife: fc.Arbitrary<PodLife> = fc
  .record(
    {
      pod: fc.integer({ min: 1, max: 0xffff_ffff }),
      time: fc.maxSafeNat(),
      waits: fc.nat(),
      start: fc.integer(),
      lasts: fc.option(fc.nat(), { nil: undefined }),
      gone: fc.boolean(),
      identity: fc.record({
        uid: anyText.filter((text) => text !== ""),
        namespace: anyText,
        name: anyText,
        specHash: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      }),
      ownerReferences: fc.uint8Array({ maxLength: 200 }),
    },
    { requiredKeys: ["pod", "time", "start", "lasts", "gone"] },
  )
  .map(({ lasts, waits, time, ...life }) => ({
    ...life,
    time: Math.min(time, Number.MAX_SAFE_INTEGER - (waits ?? 0)),
    ...(waits !== undefined && { received: Math.min(time, Number.MAX_SAFE_INTEGER - waits) + waits }),
    end: lasts === undefined ? undefined : life.start + lasts,
  }))

const anyObject: fc.Arbitrary<NewObject> = fc.record(
  {
    number: fc.integer({ min: 1, max: 0xffff_ffff }),
    uid: anyText.filter((text) => text !== ""),
    namespace: anyText,
    name: anyText,
    ownerReferences: fc.uint8Array({ minLength: 1, maxLength: 200 }),
  },
  { requiredKeys: ["number", "uid", "namespace", "name"] },
)

const anyNamespaces: fc.Arbitrary<NamespacesNews> = fc.record({
  moved: fc.array(
    fc.record({
      namespace: anyText,
      completeThrough: anyText,
      completeTime: fc.maxSafeNat(),
      listReason: fc.constantFrom("", "first", "expired", "overload", "stopped", "cluster-restored"),
    }),
    { maxLength: 5 },
  ),
  left: fc.array(anyText, { maxLength: 3 }),
  isComplete: fc.boolean(),
  livesLag: fc.boolean(),
})

const anyFrame: fc.Arbitrary<SampleFrame> = fc.record({
  epoch: uint32,
  events: fc.oneof(anyEvents(integerVersion), anyEvents(anyText)),
  objects: fc.array(anyObject, { maxLength: 10 }),
  gaps: fc.array(anyGap, { maxLength: 3 }),
  podLives: fc.array(anyPodLife, { maxLength: 10 }),
  completeThrough: anyText,
  namespaces: anyNamespaces,
})

const sample: SampleFrame = {
  epoch: 3,
  events: [
    { action: 1, number: 1, time: START, version: 41, fingerprint: [1, 0xffff_ffff], object: Buffer.from('{"a":1}') },
    {
      action: 2,
      number: 2,
      time: START + 7,
      version: 2 ** 40 + 5,
      fingerprint: [2, 3],
      object: Buffer.from('{"b":2}'),
    },
    { action: 3, number: 1, time: START + 7, version: 2n ** 64n - 1n, fingerprint: [0, 0], object: new Uint8Array(0) },
  ],
  objects: [
    { number: 1, uid: "u-1", namespace: "default", name: "web", ownerReferences: Buffer.from('[{"uid":"x"}]') },
    { number: 2, uid: "u-2", namespace: "", name: "node-ü" },
  ],
  gaps: [
    {
      ...{ fromVersion: "5", toVersion: "9", fromTime: START, toTime: START + 1 },
      ...{ reason: "expired", detail: "410 Gone", namespace: "shop" },
    },
  ],
  podLives: [
    {
      pod: 1,
      time: START + 7,
      start: 1_763_699_990,
      end: undefined,
      gone: false,
      identity: { uid: "u-1", namespace: "default", name: "web", specHash: 2n ** 64n - 3n },
      ownerReferences: Buffer.from('[{"uid":"x"}]'),
    },
    { pod: 1, time: START + 9, start: 1_763_699_990, end: 1_763_699_999, gone: true },
  ],
  completeThrough: "18446744073709551615",
  namespaces: {
    moved: [
      { namespace: "shop", completeThrough: "812", completeTime: 0, listReason: "" },
      { namespace: "stock", completeThrough: "", completeTime: START, listReason: "first" },
    ],
    left: ["bank"],
    isComplete: true,
    livesLag: true,
  },
}

const schema = new protobuf.Root()
protobuf.parse(readFileSync(new URL("../../proto/observations.proto", import.meta.url), "utf8"), schema, {
  keepCase: true,
})
const message = schema.lookupType("kubereel.Observations")

describe("the wire of observations", () => {
  test("a frame written by the builder reads the same through the .proto file", () => {
    const decoded = message.toObject(message.decode(Buffer.from(write(sample))), { arrays: true })
    expect(decoded.gvk).toBe(GVK)
    expect(decoded.epoch).toBe(3)
    expect(decoded.time_base).toBe(START)
    expect(decoded.objects.toString()).toBe('{"a":1}{"b":2}')
    expect([...decoded.actions]).toEqual([1, 2, 3])
    const columns = (name: string): DataView => new DataView(new Uint8Array(decoded[name]).buffer)
    const u32 = (name: string): Array<number> => [0, 1, 2].map((index) => columns(name).getUint32(index * 4, true))
    const u64 = (name: string): Array<bigint> => [0, 1, 2].map((index) => columns(name).getBigUint64(index * 8, true))
    expect(u32("object_numbers")).toEqual([1, 2, 1])
    expect(u32("lengths")).toEqual([7, 7, 0])
    expect(u32("time_deltas")).toEqual([0, 7, 0])
    expect(u64("resource_versions")).toEqual([41n, 2n ** 40n + 5n, 2n ** 64n - 1n])
    expect(u64("fingerprints")).toEqual([0xffff_ffff_0000_0001n, 0x3_0000_0002n, 0n])
    expect(decoded.opaque_versions).toEqual([])
    expect(decoded.new_objects).toEqual([
      { number: 1, uid: "u-1", namespace: "default", name: "web", owner_references: Buffer.from('[{"uid":"x"}]') },
      { number: 2, uid: "u-2", name: "node-ü" },
    ])
    const [gap] = decoded.gaps
    expect(gap).toEqual({
      from_version: "5",
      to_version: "9",
      from_time: START,
      to_time: START + 1,
      reason: "expired",
      detail: "410 Gone",
      namespace: "shop",
    })
    expect(decoded.complete_through).toBe("18446744073709551615")
    expect(decoded.namespaces).toEqual([
      { namespace: "shop", complete_through: "812" },
      { namespace: "stock", complete_time: START, list_reason: "first" },
    ])
    expect([decoded.complete, decoded.left_namespaces, decoded.lives_lag]).toEqual([true, ["bank"], true])
    const [first, last] = decoded.pod_lives
    expect(first).toMatchObject({ pod: 1, time: START + 7, start: 1_763_699_990, uid: "u-1", namespace: "default" })
    expect(BigInt.asUintN(64, BigInt(String(first.spec_hash)))).toBe(2n ** 64n - 3n)
    expect(first).not.toHaveProperty("end")
    expect(last).toEqual({ pod: 1, time: START + 9, start: 1_763_699_990, end: 1_763_699_999, gone: true })
  })

  test("a frame written through the .proto file reads the same here", () => {
    const ours = write({ ...sample, events: sample.events.map((event, index) => ({ ...event, version: `v${index}` })) })
    const canonical = message.encode(message.decode(Buffer.from(ours))).finish()
    expect(canonical.length).toBeLessThan(ours.length)
    expect(read(decodeObservations(canonical))).toEqual(read(decodeObservations(ours)))
  })

  test("every field of the .proto file has the number and type this codec writes", () => {
    const wireTypes: Readonly<Record<string, number>> = { double: 1, fixed64: 1, uint32: 0, bool: 0 }
    const camel = (name: string): string => name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())
    const codecs = {
      Observations: { objects: OBJECTS_TAG, ...observationFields.tags },
      NewObject: newObjectFields.tags,
      Gap: gapFields.tags,
      LateRange: lateRangeFields.tags,
      NamespaceProgress: progressFields.tags,
      PodLife: podLifeFields.tags,
    }
    for (const [name, tags] of Object.entries(codecs)) {
      const fields = schema.lookupType(`kubereel.${name}`).fieldsArray
      const expected = fields.map(({ id, name: field, type, repeated }) => [
        camel(field),
        (id << 3) | (repeated ? 2 : (wireTypes[type] ?? 2)),
      ])
      expect(tags, name).toEqual(Object.fromEntries(expected))
    }
  })
})

describe("a frame", () => {
  test("is read as it was written", () => {
    const builder = new ObservationsBuilder(GVK, { initialCapacity: 2 })
    fc.assert(
      fc.property(anyFrame, (frame) => {
        const bytes = write(frame, sharedSlab(1 << 20), builder)
        expect(read(decodeObservations(bytes))).toEqual(frame)
      }),
      { numRuns: rounds(200) },
    )
  })

  test("is read from its columns with its payload kept apart", () => {
    fc.assert(
      fc.property(anyFrame, (frame) => {
        const { payload, columns } = splitObservations(write(frame))
        const moved = Buffer.from(payload)
        expect(read(decodeColumns(Uint8Array.from(columns), moved))).toEqual(frame)
        const withoutBytes = decodeColumns(columns, payload.length)
        expect(withoutBytes.payloadLength).toBe(payload.length)
        if (frame.events.length > 0) {
          const last = frame.events.length - 1
          expect(new Uint8Array(withoutBytes.object(last, moved))).toEqual(
            new Uint8Array(frame.events[last]?.object ?? []),
          )
        }
      }),
      { numRuns: 100 },
    )
  })

  test("of random bytes is either read or rejected as malformed, never anything else", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          read(decodeObservations(bytes))
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedFrameError)
        }
      }),
      { numRuns: rounds(2000) },
    )
  })

  test("with damaged or missing bytes is either read or rejected as malformed", () => {
    const whole = write(sample)
    let refused = 0
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), fc.boolean(), (at, change, cut) => {
        const damaged = Buffer.from(cut ? whole.subarray(0, at) : whole)
        if (!cut) damaged[at] = (damaged[at] ?? 0) ^ change
        try {
          read(decodeObservations(damaged))
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedFrameError)
          refused++
        }
      }),
      { numRuns: rounds(2000) },
    )
    expect(refused).toBeGreaterThan(0)
  })

  test.each([
    ["a length that does not match the objects", { objects: Buffer.alloc(3) }, "sum up"],
    ["a column that is too short", { lengths: Buffer.alloc(5) }, "lengths has 5"],
    ["an action that does not exist", { actions: Buffer.from([1, 9, 3]) }, "action 9"],
    ["bytes for a vanished object", { actions: Buffer.from([3, 2, 3]) }, "vanished event 0"],
    ["too few opaque versions", { opaque_versions: ["a"] }, "1 opaque_versions"],
    ["no kind", { gvk: "" }, "gvk"],
    ["a time that is no number", { time_base: Number.NaN }, "time_base"],
    ["a gap for an unknown reason", { gaps: [{ reason: "bored" }] }, "bored"],
    [
      "an unknown reason of a list",
      { namespaces: [{ namespace: "shop", list_reason: "because" }] },
      'list reason "because" of namespace shop',
    ],
    ["a new object without UID", { new_objects: [{ number: 4 }] }, "number 4"],
  ])("with %s is refused", (_, damage, words) => {
    const bytes = message.encode(Object.assign(message.decode(write(sample)), damage)).finish()
    expect(() => decodeObservations(bytes)).toThrow(MalformedFrameError)
    expect(() => decodeObservations(bytes)).toThrow(words)
  })

  test("of a newer writer is read, and its unknown fields are skipped", () => {
    const newer = Buffer.concat([
      write(sample),
      protobuf.Writer.create()
        .uint32((99 << 3) | 2)
        .string("later")
        .finish(),
    ])
    expect(read(decodeObservations(newer))).toEqual(read(decodeObservations(write(sample))))
  })
})

describe("the builder", () => {
  const object = Buffer.alloc(1000, 120)
  const eventOf = (members: Partial<FrameEvent>): FrameEvent =>
    frameEvent({ objectNumber: 1, timeMicros: START, version: 1, bytes: object, ...members })

  test("rejects what does not fit and leaves the frame as it was", () => {
    const builder = new ObservationsBuilder(GVK)
    const slab = sharedSlab(4096)
    builder.begin(slab, 0)
    let taken = 0
    while (builder.append(eventOf({ version: 1 }))) taken++
    expect(taken).toBe(3)
    expect(builder.addObject({ number: 1, uid: "u".repeat(2000), namespace: "", name: "n" })).toBe(false)
    expect(builder.addGap({ ...(sample.gaps[0] as Gap), detail: "d".repeat(2000) })).toBe(false)
    expect(builder.completeThrough("9".repeat(2000))).toBe(false)
    const frame = decodeObservations(slab.subarray(0, builder.finish()))
    expect([frame.count, frame.newObjectCount, frame.gapCount, frame.completeThrough]).toEqual([3, 0, 0, ""])
  })

  test("writes one object larger than any slab into a slab of the size it requests", () => {
    fc.assert(
      fc.property(fc.nat(3_000_000), anyObject, (bytes, newObject) => {
        const builder = new ObservationsBuilder(GVK)
        builder.begin(Buffer.alloc(builder.sizeFor(bytes, newObject)), 7)
        expect(builder.addObject(newObject)).toBe(true)
        expect(builder.append(eventOf({ objectNumber: newObject.number, bytes: Buffer.alloc(bytes) }))).toBe(true)
        expect(builder.completeThrough("18446744073709551615")).toBe(true)
      }),
      { numRuns: 20 },
    )
  })

  test("rejects an event before the last one or more than 2^32 µs after it", () => {
    const builder = new ObservationsBuilder(GVK)
    builder.begin(sharedSlab(4096), 0)
    const append = (time: number): boolean => builder.append(eventOf({ timeMicros: time }))
    expect(append(START)).toBe(true)
    expect(append(START - 1)).toBe(false)
    expect(append(START + 2 ** 32)).toBe(false)
    expect(append(START + 2 ** 32 - 1)).toBe(true)
    expect(builder.count).toBe(2)
  })

  test("does not mix integer and opaque versions in one frame", () => {
    const builder = new ObservationsBuilder(GVK)
    builder.begin(sharedSlab(4096), 0)
    expect(builder.append(eventOf({ version: 5 }))).toBe(true)
    expect(builder.append(eventOf({ version: "five" }))).toBe(false)
    builder.begin(sharedSlab(4096), 0)
    expect(builder.append(eventOf({ version: "five" }))).toBe(true)
    expect(builder.append(eventOf({ version: 6n }))).toBe(false)
  })

  test("needs room for an empty frame", () => {
    expect(() => new ObservationsBuilder(GVK).begin(sharedSlab(64), 0)).toThrow(RangeError)
  })
})
