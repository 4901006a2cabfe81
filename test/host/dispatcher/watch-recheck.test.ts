/** Permissions of watches that change while they are open, on a clock that the test advances. */
import * as Effect from "effect/Effect"
import { expect, test } from "vitest"
import { defaultHostPolicy } from "../../../src/host/dispatcher/host-policy.ts"
import { ExpiryPace, type WatchAnswer, WatchRegistry } from "../../../src/host/dispatcher/watch-registry.ts"
import type { WatchRequest } from "../../../src/host/guest/abi-values.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const request: WatchRequest = {
  apiVersion: "v1",
  group: "",
  kind: "Secret",
  version: "v1",
  namespace: "shop",
  resourceVersion: "",
  includeUninitialized: false,
  allowBookmarks: false,
}
const forbidden = { code: 403, reason: "Forbidden", message: "no" }
const unknown = { code: 503, reason: "ServiceUnavailable", message: "no response" }

const withRegistry = (first: WatchAnswer) => {
  const clock = new ManualClock()
  const state = { answer: first as WatchAnswer | Promise<WatchAnswer>, checks: 0 }
  const hub: string[] = []
  const ended: string[] = []
  const registry = new WatchRegistry({
    pace: new ExpiryPace(clock, () => 0, defaultHostPolicy.expiredWatch),
    clock,
    hub: {
      running: () => Effect.void,
      call: (method: string, payload: { id?: number; isPaused?: boolean }) =>
        Effect.sync(
          () => void hub.push([method, payload.id, payload.isPaused].filter((each) => each !== undefined).join(" ")),
        ),
    } as never,
    check: async () => {
      state.checks++
      return state.answer
    },
    end: (worker, subscription, refusal) => ended.push(`${worker} ${subscription} ${refusal?.code}`),
  })
  const begin = () => registry.begin("w", "bot", 1, request)
  return { clock, state, hub, ended, registry, begin }
}

/** Until everything that the calls have started is done. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test("A watch that is allowed is subscribed; one that is refused never is, and is told so after a second", async () => {
  const good = withRegistry(undefined)
  good.begin()
  await settled()
  expect([good.hub, good.ended]).toEqual([["subscribe 1"], []])
  const bad = withRegistry(forbidden)
  bad.begin()
  await settled()
  expect(bad.ended).toEqual([])
  bad.clock.advance(1000)
  expect([bad.hub, bad.ended]).toEqual([[], ["w 1 403"]])
  bad.state.answer = undefined
  await bad.registry.recheck()
  expect([bad.hub, bad.state.checks]).toEqual([[], 1])
})

test("A right that is taken away ends the watch at the hub and at the worker, once", async () => {
  const { state, hub, ended, registry, begin } = withRegistry(undefined)
  begin()
  await settled()
  await registry.recheck()
  expect([hub, ended]).toEqual([["subscribe 1"], []])
  state.answer = forbidden
  await registry.recheck()
  await settled()
  expect([hub, ended, registry.size]).toEqual([["subscribe 1", "unsubscribe 1"], ["w 1 403"], 0])
  // What the worker says about it.
  registry.unwatch("w", 1)
  await registry.recheck()
  await settled()
  expect([hub.length, ended.length, state.checks]).toEqual([2, 1, 3])
})

test("A check that gets no answer ends no watch that is open, and lets none begin", async () => {
  const { clock, state, hub, ended, registry, begin } = withRegistry(undefined)
  begin()
  await settled()
  state.answer = unknown
  await registry.recheck()
  registry.begin("w", "bot", 2, request)
  await settled()
  clock.advance(1000)
  expect([hub, ended]).toEqual([["subscribe 1"], ["w 2 503"]])
})

test("A watch of a kind that does not exist waits, and begins once it does, paused if its module is", async () => {
  const { state, hub, ended, registry, begin } = withRegistry("not-yet")
  begin()
  await settled()
  registry.pause("w", 1, true)
  await registry.recheck()
  await settled()
  expect([hub, ended, registry.size]).toEqual([[], [], 1])
  state.answer = undefined
  await registry.recheck()
  await settled()
  expect(hub).toEqual(["subscribe 1", "pause 1 true"])
  state.answer = "not-yet"
  await registry.recheck()
  expect([hub.length, ended]).toEqual([2, []])
})

test("What nobody reads any more does not begin when its check ends, and checks hold up no worker", async () => {
  const { clock, state, hub, ended, registry, begin } = withRegistry(undefined)
  let answer: (refusal: WatchAnswer) => void = () => undefined
  state.answer = new Promise((resolve) => {
    answer = resolve
  })
  begin()
  await registry.recheck()
  expect(state.checks).toBe(1)
  await registry.workerGone("w")
  expect(hub).toEqual(["release"])
  // The next life of the worker, with the same number.
  state.answer = undefined
  begin()
  await settled()
  answer(forbidden)
  await settled()
  clock.advance(1000)
  expect([hub, ended, registry.size]).toEqual([["release", "subscribe 1"], [], 1])
})

test("Nothing is left of a refusal that nobody waits for: its watch, its worker or the host has ended", async () => {
  for (const end of [
    (registry: WatchRegistry) => registry.unwatch("w", 1),
    (registry: WatchRegistry) => registry.workerGone("w"),
    (registry: WatchRegistry) => registry.close(),
  ]) {
    const { clock, registry, begin } = withRegistry(forbidden)
    begin()
    await settled()
    expect(clock.pending).toBe(1)
    await end(registry)
    expect([clock.pending, registry.size]).toEqual([0, 0])
  }
})

test("After a crash of the hub all watches end without an error, and are not checked any more", async () => {
  const { state, ended, registry, begin } = withRegistry(undefined)
  begin()
  await settled()
  registry.hubRestarted()
  state.answer = forbidden
  await registry.recheck()
  expect([ended, state.checks]).toEqual([["w 1 undefined"], 1])
})
