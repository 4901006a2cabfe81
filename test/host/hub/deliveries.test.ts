import fc from "fast-check"
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
})
