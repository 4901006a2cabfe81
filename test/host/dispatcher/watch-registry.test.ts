/** The watches of the modules at a hub that is there, slow, gone, or restarted; and the checks of their permission, which may change. */
import * as Effect from "effect/Effect"
import { beforeEach, expect, test } from "vitest"
import {
  ExpiryPace,
  refusalDelayMs,
  type WatchAnswer,
  type WatchRefusal,
  WatchRegistry,
} from "../../../src/host/dispatcher/watch-registry.ts"
import { defaultHostPolicy } from "../../../src/host/host-options.ts"
import { InvalidSubscription } from "../../../src/host/hub/hub-selection.ts"
import { ActorGone } from "../../../src/runtime/index.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { turn } from "../../runtime/until.ts"

const request = { apiVersion: "v1", kind: "ConfigMap", resourceVersion: "" } as never
const forbidden: WatchRefusal = { code: 403, reason: "Forbidden", message: "no" }
const unknown: WatchRefusal = { code: 503, reason: "ServiceUnavailable", message: "no response" }

let clock: ManualClock
let calls: string[]
let ends: string[]
/** All that there were. They are open until the test answers them. */
let checks: PromiseWithResolvers<WatchAnswer>[]
let becomesRunning: (() => void) | undefined
let failure: unknown
let registry: WatchRegistry

beforeEach(() => {
  clock = new ManualClock()
  calls = []
  ends = []
  checks = []
  becomesRunning = undefined
  failure = undefined
  const hub = {
    running: () =>
      becomesRunning === undefined
        ? Effect.void
        : Effect.callback<void>((resume) => {
            becomesRunning = () => resume(Effect.void)
          }),
    call: (method: string, { receiver, id = "" }: { receiver: string; id?: number | string }) =>
      Effect.suspend(() => {
        calls.push(`${method} ${receiver} ${id}`.trim())
        return failure !== undefined && method === "subscribe" ? Effect.fail(failure) : Effect.void
      }),
  }
  registry = new WatchRegistry({
    pace: new ExpiryPace(clock, () => 0, defaultHostPolicy.expiredWatch),
    hub: hub as never,
    clock,
    check: () => {
      const check = Promise.withResolvers<WatchAnswer>()
      checks.push(check)
      return check.promise
    },
    end: (worker, subscription, refusal) => ends.push(`${worker} ${subscription} ${refusal?.code ?? ""}`.trim()),
  })
})

const begin = async (subscription: number, answer?: WatchAnswer): Promise<void> => {
  registry.begin("w", "m", subscription, request)
  checks.at(-1)?.resolve(answer)
  await turn()
}

/** Asks once more about the watches that are there; each is answered so. */
const recheck = async (answer?: WatchAnswer): Promise<void> => {
  const before = checks.length
  const done = registry.recheck()
  for (const check of checks.slice(before)) check.resolve(answer)
  await done
  await turn()
}

test("what concerns a watch reaches the hub in order, however long the check of its permission takes", async () => {
  registry.begin("w", "m", 1, request)
  registry.pause("w", 1, true)
  await begin(2)
  expect(calls).toEqual(["subscribe w 2"])
  checks[0]?.resolve(undefined)
  await turn()
  registry.unwatch("w", 1)
  await turn()
  expect(calls).toEqual(["subscribe w 2", "subscribe w 1", "pause w 1", "unsubscribe w 1"])
  expect(registry.size).toBe(1)
})

test("a refusal comes a second later, so that a guest that asks again and again asks once a second", async () => {
  await begin(1, forbidden)
  clock.advance(refusalDelayMs - 1)
  expect(ends).toEqual([])
  clock.advance(1)
  expect(ends).toEqual(["w 1 403"])
  // It is not asked about any more.
  await recheck()
  expect([calls, checks.length]).toEqual([[], 1])
})

test("a right that is taken away ends the watch at the hub and at the worker, once", async () => {
  await begin(1)
  await recheck()
  expect([calls, ends]).toEqual([["subscribe w 1"], []])
  await recheck(forbidden)
  expect([calls, ends, registry.size]).toEqual([["subscribe w 1", "unsubscribe w 1"], ["w 1 403"], 0])
  // What the worker says about it.
  registry.unwatch("w", 1)
  await recheck()
  expect([calls.length, ends.length, checks.length]).toEqual([2, 1, 3])
})

test("a check that gets no answer ends no watch that is open, and lets none begin", async () => {
  await begin(1)
  await recheck(unknown)
  await begin(2, unknown)
  clock.advance(refusalDelayMs)
  expect([calls, ends]).toEqual([["subscribe w 1"], ["w 2 503"]])
})

test("a watch of a kind that does not exist waits, and begins once it does, paused if its module is", async () => {
  await begin(1, "not-yet")
  registry.pause("w", 1, true)
  await recheck("not-yet")
  expect([calls, ends, registry.size]).toEqual([[], [], 1])
  await recheck()
  expect(calls).toEqual(["subscribe w 1", "pause w 1"])
  await recheck("not-yet")
  expect([calls.length, ends]).toEqual([2, []])
})

test("a check that fails, a selector that is none and a hub that is too slow refuse the watch, each with its code", async () => {
  registry.begin("w", "m", 1, request)
  checks[0]?.reject(new Error("the API server does not respond"))
  failure = new InvalidSubscription({ member: "labelSelector", problem: "it is none" })
  await begin(2)
  failure = new Error("deadline")
  await begin(3)
  clock.advance(refusalDelayMs)
  expect(ends).toEqual(["w 1 503", "w 2 400", "w 3 503"])
})

test("watches that are wanted while there is no hub wait for it and are not ended by its start; those that it had are", async () => {
  await begin(1)
  becomesRunning = () => undefined
  await begin(2)
  expect(calls).toEqual(["subscribe w 1"])
  registry.hubRestarted()
  expect(ends).toEqual(["w 1"])
  becomesRunning()
  await turn()
  expect(calls).toEqual(["subscribe w 1", "subscribe w 2"])
  expect(registry.size).toBe(1)
})

test("a hub that ends while it is asked refuses nothing: its restart ends the watch", async () => {
  failure = new ActorGone({ actor: "hub", reason: "killed" })
  await begin(1)
  clock.advance(refusalDelayMs)
  expect(ends).toEqual([])
  registry.hubRestarted()
  expect(ends).toEqual(["w 1"])
  await recheck(forbidden)
  expect([ends.length, checks.length]).toEqual([1, 1])
})

test("the end of a worker releases its subscriptions at once, and what is still being checked or refused comes to nothing", async () => {
  await begin(1)
  await begin(2, forbidden)
  registry.begin("w", "m", 3, request)
  registry.workerGone("w")
  expect(calls).toEqual(["subscribe w 1", "release w"])
  // The next life of the worker, with the same number.
  await begin(3)
  checks[2]?.resolve(forbidden)
  await turn()
  clock.advance(refusalDelayMs)
  expect(calls).toEqual(["subscribe w 1", "release w", "subscribe w 3"])
  expect(ends).toEqual([])
  expect([registry.size, clock.pending]).toEqual([1, 0])
})

test("a watch from a version begins later if such watches of its module expire again and again, and is not checked before", async () => {
  const again = { apiVersion: "v1", kind: "ConfigMap", resourceVersion: "5" } as never
  for (const subscription of [1, 2]) {
    registry.begin("w", "m", subscription, again)
    expect(checks).toHaveLength(subscription)
    checks.at(-1)?.resolve(undefined)
    await turn()
    registry.unwatch("w", subscription, true)
  }
  registry.begin("w", "m", 3, again)
  await registry.recheck()
  clock.advance(999)
  expect(checks).toHaveLength(2)
  clock.advance(1)
  expect(checks).toHaveLength(3)
  registry.unwatch("w", 3)
  expect(clock.pending).toBe(0)
})

test.each([
  ["its watch", () => registry.unwatch("w", 1)],
  ["its worker", () => registry.workerGone("w")],
  ["the host", () => registry.close()],
])("nothing is left of a refusal that nobody waits for, because %s has ended", async (_, end) => {
  await begin(1, forbidden)
  expect(clock.pending).toBe(1)
  end()
  expect([clock.pending, registry.size]).toEqual([0, 0])
})
