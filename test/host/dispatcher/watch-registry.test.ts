/** The watches of the modules at a hub that is there, slow, gone, or restarted; and the checks of their permission. */
import * as Effect from "effect/Effect"
import { beforeEach, expect, test } from "vitest"
import { defaultHostPolicy } from "../../../src/host/dispatcher/host-policy.ts"
import {
  ExpiryPace,
  refusalDelayMs,
  type WatchRefusal,
  WatchRegistry,
} from "../../../src/host/dispatcher/watch-registry.ts"
import { InvalidSubscription } from "../../../src/host/hub/hub-selection.ts"
import { ActorGone } from "../../../src/runtime/index.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { turn } from "../../runtime/until.ts"

const request = { apiVersion: "v1", kind: "ConfigMap", resourceVersion: "" } as never
const forbidden: WatchRefusal = { code: 403, reason: "Forbidden", message: "no" }

let clock: ManualClock
let calls: string[]
let ends: string[]
let checks: Array<{ resolve: (refusal?: WatchRefusal) => void; reject: (cause: Error) => void }>
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
    check: () => new Promise((resolve, reject) => checks.push({ resolve, reject })),
    end: (worker, subscription, refusal) => ends.push(`${worker} ${subscription} ${refusal?.code ?? ""}`.trim()),
  })
})

const begin = async (subscription: number, refusal?: WatchRefusal): Promise<void> => {
  registry.begin("w", "m", subscription, request)
  checks.at(-1)?.resolve(refusal)
  await turn()
}

test("what concerns a watch reaches the hub in order, however long the check of its permission takes", async () => {
  registry.begin("w", "m", 1, request)
  registry.pause("w", 1, true)
  await begin(2)
  expect(calls).toEqual(["subscribe w 2"])
  checks[0]?.resolve()
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
  expect(calls).toEqual([])
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
})

test("the end of a worker releases its subscriptions at once, and what is still being checked or refused comes to nothing", async () => {
  await begin(1)
  await begin(2, forbidden)
  registry.begin("w", "m", 3, request)
  registry.workerGone("w")
  expect(calls).toEqual(["subscribe w 1", "release w"])
  checks[2]?.resolve()
  await turn()
  clock.advance(refusalDelayMs)
  expect(calls).toEqual(["subscribe w 1", "release w"])
  expect(ends).toEqual([])
  expect([registry.size, clock.pending]).toEqual([0, 0])
})

test("a watch from a version begins later if such watches of its module expire again and again, and is not checked before", async () => {
  const again = { apiVersion: "v1", kind: "ConfigMap", resourceVersion: "5" } as never
  for (const subscription of [1, 2]) {
    registry.begin("w", "m", subscription, again)
    expect(checks).toHaveLength(subscription)
    checks.at(-1)?.resolve()
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

test("a closed registry leaves no timer behind", async () => {
  await begin(1, forbidden)
  registry.close()
  expect(clock.pending).toBe(0)
})
