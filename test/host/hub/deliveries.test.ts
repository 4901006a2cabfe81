import { fileURLToPath } from "node:url"
import fc from "fast-check"
import protobuf from "protobufjs"
import { describe, expect, test } from "vitest"
import { DeliveriesBuilder, type Delivery, readDeliveries } from "../../../src/host/hub/deliveries.ts"
import type { HubChange, HubChangeType } from "../../../src/host/hub/hub-change.ts"

const change = fc.oneof(
  fc.record({
    type: fc.constantFrom<HubChangeType>("added", "modified", "deleted"),
    key: fc.string(),
    uid: fc.string({ minLength: 1 }),
    version: fc.string(),
    bytes: fc.uint8Array({ minLength: 1, maxLength: 50 }).map((bytes) => Buffer.from(bytes)),
    isFinalStateUnknown: fc.constant(false),
  }),
  fc.record({
    type: fc.constantFrom<HubChangeType>("synced", "bookmark", "expired", "history"),
    key: fc.constant(""),
    uid: fc.constant(""),
    version: fc.string(),
    bytes: fc.uint8Array({ maxLength: 5 }).map((bytes) => Buffer.from(bytes)),
    isFinalStateUnknown: fc.constant(false),
  }),
)
const withVanished = change.map(
  (each): HubChange => (each.type === "deleted" && each.version === "" ? { ...each, isFinalStateUnknown: true } : each),
)
const subscription = fc.nat({ max: 0xffff_ffff })

const frameOf = (rows: ReadonlyArray<Delivery>): Buffer => {
  const builder = new DeliveriesBuilder()
  for (const row of rows) builder.add(row)
  return Buffer.from(builder.finish())
}

describe("Frames of deliveries", () => {
  test("arrive as they were sent, also if several subscriptions have the same object", () => {
    const rows = fc.array(withVanished, { minLength: 1, maxLength: 8 }).chain((changes) =>
      fc.array(fc.record({ subscription, number: subscription, change: fc.constantFrom(...changes) }), {
        maxLength: 20,
      }),
    )
    fc.assert(
      fc.property(rows, (given) => {
        expect(readDeliveries(frameOf(given))).toEqual(given)
      }),
    )
  })

  test("have one change for all rows that say the same", () => {
    const object = { key: "n/a", uid: "u", version: "7", bytes: Buffer.from('{"a":1}'), isFinalStateUnknown: false }
    const rows = (["added", "added", "modified"] as const).map(
      (type, index): Delivery => ({ subscription: index, number: 1, change: { ...object, type } }),
    )
    const [first, second, third] = readDeliveries(frameOf(rows))
    expect(second?.change).toBe(first?.change)
    expect(third?.change).toEqual(rows[2]?.change)
  })

  test("have the fields of proto/host.proto, and each object once", async () => {
    const file = fileURLToPath(new URL("../../../proto/host.proto", import.meta.url))
    const message = (await new protobuf.Root().load(file, { keepCase: true })).lookupType("kubereel.Deliveries")
    const object = { key: "n/a", uid: "u", version: "7", bytes: Buffer.from('{"a":1}'), isFinalStateUnknown: false }
    const mark = { type: "synced", key: "", uid: "", version: "8", bytes: Buffer.alloc(0) } as const
    const frame = frameOf([
      { subscription: 1, number: 1, change: { ...object, type: "added" } },
      { subscription: 0x1_0000, number: 0x1_0001, change: { ...object, type: "deleted", isFinalStateUnknown: true } },
      { subscription: 1, number: 2, change: { ...mark, isFinalStateUnknown: false } },
    ])
    const numbers = (...values: number[]): string => Buffer.from(new Uint32Array(values).buffer).toString("base64")
    expect(message.toObject(message.decode(frame), { bytes: String })).toEqual({
      objects: Buffer.from('{"a":1}').toString("base64"),
      lengths: numbers(7, 0),
      keys: ["n/a", ""],
      uids: ["u", ""],
      versions: ["7", "8"],
      subscriptions: numbers(1, 0x1_0000, 1),
      types: Buffer.from([1, 4, 5]).toString("base64"),
      object_indexes: numbers(0, 0, 1),
      numbers: numbers(1, 0x1_0001, 2),
    })
  })

  test("that are malformed are an error, whatever the bytes", () => {
    const damaged = fc.tuple(fc.uint8Array({ maxLength: 40 }), fc.array(withVanished, { maxLength: 3 }))
    fc.assert(
      fc.property(damaged, fc.nat({ max: 60 }), ([bytes, changes], cut) => {
        const frame = frameOf(changes.map((each) => ({ subscription: 1, number: 1, change: each })))
        for (const text of [Buffer.from(bytes), frame.subarray(0, Math.min(cut, frame.length))]) {
          try {
            readDeliveries(text)
          } catch (cause) {
            expect(cause).toBeInstanceOf(Error)
          }
        }
      }),
    )
    expect(() => readDeliveries(Buffer.from([0x3a, 1, 9, 0x42, 4, 0, 0, 0, 0]))).toThrow("malformed")
  })
})
