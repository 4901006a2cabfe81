/**
 * Subscriptions that take the present state in their own time while it changes, compared with a model that has every change: what a consumer
 * has been told at any moment, with the changes after the version that it has, is the present state.
 */
import fc from "fast-check"
import { expect, test } from "vitest"
import type { HubChange } from "../../../src/host/hub/hub-change.ts"
import { HubSubscription } from "../../../src/host/hub/hub-subscription.ts"
import { ObjectPlaces } from "../../../src/host/hub/state/object-places.ts"
import { ObjectState } from "../../../src/host/hub/state/object-state.ts"
import { StateChange } from "../../../src/host/hub/state/state-change.ts"

/** Tier and version are in the bytes, as JSON with the members that states with another version need. */
const bytesOf = (tier: string, version: number): Buffer =>
  Buffer.from(JSON.stringify({ metadata: { resourceVersion: String(version) }, tier }))
const isX = ({ bytes }: { readonly bytes: Buffer }): boolean => bytes.includes('"tier":"x"')

const name = fc.constantFrom("a", "b", "c", "d", "e", "f", "g", "h")
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("put" as const), name, tier: fc.constantFrom("x", "y") }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("delete" as const), name }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("subscribe" as const), isSelective: fc.boolean() }) },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant("take" as const), who: fc.nat(), bytes: fc.integer({ min: 1, max: 400 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("bookmark" as const) }) },
)

type Step = typeof step extends fc.Arbitrary<infer Each> ? Each : never

/** An object behind the walk changes, then one before it, and one before it goes. */
const midway: Step[] = [
  { do: "put", name: "a", tier: "x" },
  { do: "put", name: "b", tier: "x" },
  { do: "put", name: "c", tier: "x" },
  { do: "subscribe", isSelective: true },
  { do: "take", who: 0, bytes: 1 },
  { do: "put", name: "a", tier: "x" },
  { do: "put", name: "b", tier: "x" },
  { do: "delete", name: "c" },
  { do: "take", who: 0, bytes: 400 },
]

interface Consumer {
  readonly subscription: HubSubscription
  readonly isSelective: boolean
  /** UID → version of what it was told of and not told the end of. */
  readonly known: Map<string, number>
  readonly told: Set<string>
  readonly gone: Set<string>
  /** Of the last change or mark since `synced`. */
  version: number | undefined
}

test("the state is told once, as it is then, and with the changes after it makes the present one, at any moment", () => {
  let newer = 0
  let omitted = 0
  const run = (steps: ReadonlyArray<Step>): void => {
    const objects = new ObjectPlaces()
    const uids = new Map<string, string>()
    const changes: StateChange[] = []
    const consumers: Consumer[] = []
    let version = 0
    const pass = (change: StateChange): void => {
      changes.push(change)
      for (const { subscription } of consumers) {
        subscription.offer(change)
        subscription.reached(version, false)
        subscription.announce()
      }
    }
    /** What a watch that resumes after the version of the consumer would make of what it knows. */
    const resumed = ({ known, version: after = 0, isSelective }: Consumer): Map<string, number> => {
      const state = new Map(known)
      for (const change of changes) {
        const event = change.within(isSelective ? isX : undefined)
        if (event === undefined || Number(event.object.version) <= after) continue
        if (event.type === "deleted") state.delete(event.object.uid)
        else state.set(event.object.uid, Number(event.object.version))
      }
      return state
    }
    const present = ({ isSelective }: Consumer): Map<string, number> =>
      new Map([...objects].filter((each) => !isSelective || isX(each)).map(({ uid, version: at }) => [uid, Number(at)]))
    const hear = (consumer: Consumer, { type, uid, version: text }: HubChange): void => {
      const at = Number(text)
      const { known, told, gone } = consumer
      if (consumer.version === undefined && type === "added") {
        // The state: each object once, as it is now.
        expect(told.has(uid)).toBe(false)
        expect(at).toBe(Number(objects.get(uid)?.version))
      } else {
        expect(type === "synced").toBe(consumer.version === undefined)
        if (consumer.version !== undefined) expect(at).toBeGreaterThanOrEqual(consumer.version)
        newer += type === "synced" && [...known.values()].some((each) => each > at) ? 1 : 0
        consumer.version = at
      }
      if (uid === "") return
      if (type === "deleted") {
        expect(gone.has(uid) && !known.has(uid)).toBe(false)
        known.delete(uid)
        gone.add(uid)
      } else {
        expect(type).toBe(known.has(uid) ? "modified" : "added")
        expect(at).toBeGreaterThan(known.get(uid) ?? 0)
        known.set(uid, at)
        told.add(uid)
      }
    }
    const take = (consumer: Consumer, bytes?: number): void => {
      const { subscription } = consumer
      const waited = subscription.pending
      const taken = subscription.take(bytes)
      expect(taken.length > 0).toBe(waited > 0)
      for (const change of taken) {
        hear(consumer, change)
        if (consumer.version !== undefined && change === taken.at(-1))
          expect(resumed(consumer)).toEqual(present(consumer))
      }
    }
    for (const each of steps) {
      if (each.do === "put") {
        const uid = uids.get(each.name) ?? `${each.name}${version}`
        uids.set(each.name, uid)
        const before = objects.get(uid)
        const identity = before ?? { uid, namespace: "n", name: each.name }
        const object = new ObjectState(identity, ++version, bytesOf(each.tier, version))
        pass(new StateChange(before, object, { ordinal: objects.put(object) }))
      } else if (each.do === "delete") {
        const before = objects.get(uids.get(each.name) ?? "")
        if (before === undefined) continue
        uids.delete(each.name)
        omitted += consumers.filter(({ told }) => !told.has(before.uid)).length
        pass(
          new StateChange(before, before.withVersion(++version), {
            end: "deleted",
            ordinal: objects.remove(before.uid),
          }),
        )
      } else if (each.do === "subscribe") {
        const { isSelective } = each
        const subscription = new HubSubscription({
          request: { id: "s", kind: { group: "", version: "v1", kind: "ConfigMap" } },
          kind: "v1.ConfigMap",
          filter: isSelective ? isX : undefined,
          after: undefined,
          maximumBytes: Number.POSITIVE_INFINITY,
          consumer: { available: () => undefined },
          consumerFailed: (error) => {
            throw error
          },
          ended: () => undefined,
        })
        consumers.push({
          subscription,
          isSelective,
          known: new Map(),
          told: new Set(),
          gone: new Set(),
          version: undefined,
        })
        subscription.present(objects.walk(), version)
        subscription.announce()
      } else if (each.do === "bookmark") for (const { subscription } of consumers) subscription.reached(version, true)
      else if (consumers.length > 0) take(consumers[each.who % consumers.length] as Consumer, each.bytes)
    }
    for (const consumer of consumers) {
      while (consumer.subscription.pending > 0) take(consumer)
      const { known, told, gone } = consumer
      expect(known).toEqual(present(consumer))
      // The end of everything that it was told of.
      for (const uid of told) expect(known.has(uid) || gone.has(uid)).toBe(true)
      expect(consumer.subscription.statistics()).toMatchObject({ pending: 0, pendingBytes: 0, isSynced: true })
    }
  }
  fc.assert(fc.property(fc.array(step, { maxLength: 80 }), run), { numRuns: 300, examples: [[midway]] })
  // The state was taken slowly enough for changes in it, and for objects to be gone before they were told.
  expect(newer).toBeGreaterThan(0)
  expect(omitted).toBeGreaterThan(0)
})
