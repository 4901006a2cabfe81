/** The questions of script threads about what their scripts may watch. */
import { expect, test } from "vitest"
import type { HubWatchRequest, WatchAnswer } from "../../../src/host/dispatcher/watch-registry.ts"
import { WatchGrants } from "../../../src/host/scripts/watch-grants.ts"

const request: HubWatchRequest = {
  apiVersion: "v1",
  group: "",
  kind: "Secret",
  version: "v1",
  resourceVersion: "",
  includeUninitialized: false,
  allowBookmarks: false,
}
const forbidden = { code: 403, reason: "Forbidden", message: "no" }
const unknown = { code: 503, reason: "ServiceUnavailable", message: "no response" }

const withGrants = () => {
  const state: { answer: () => Promise<WatchAnswer>; checks: number } = { answer: async () => undefined, checks: 0 }
  const told: string[] = []
  const grants = new WatchGrants({
    check: () => {
      state.checks++
      return state.answer()
    },
    settle: (thread, question, refusal) => told.push(`${thread} ${question} ${refusal || "granted"}`),
  })
  const answer = (given: WatchAnswer): void => {
    state.answer = async () => given
  }
  return { state, told, grants, answer }
}
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test("A right is told once, its end once, and its return", async () => {
  const { told, grants, answer } = withGrants()
  grants.ask("t", 1, "bot", request)
  await settled()
  await grants.recheck()
  expect(told).toEqual(["t 1 granted"])
  answer(forbidden)
  await grants.recheck()
  await grants.recheck()
  expect(told.splice(0)).toEqual(["t 1 granted", "t 1 no"])
  answer(undefined)
  await grants.recheck()
  expect(told).toEqual(["t 1 granted"])
})

test("A refusal is told once per reason, and a right lasts while the server cannot be asked", async () => {
  const { state, told, grants, answer } = withGrants()
  answer(unknown)
  grants.ask("t", 1, "bot", request)
  await settled()
  await grants.recheck()
  answer(forbidden)
  await grants.recheck()
  state.answer = () => Promise.reject(new Error("broken"))
  await grants.recheck()
  expect(told.splice(0)).toEqual(["t 1 no response", "t 1 no", "t 1 it could not be checked: broken"])
  answer(undefined)
  await grants.recheck()
  answer(unknown)
  await grants.recheck()
  expect(told).toEqual(["t 1 granted"])
})

test("A kind that does not exist is asked about again, without a word", async () => {
  const { told, grants, answer } = withGrants()
  answer("not-yet")
  grants.ask("t", 1, "bot", request)
  await settled()
  expect(told).toEqual([])
  answer(undefined)
  await grants.recheck()
  expect(told).toEqual(["t 1 granted"])
})

test("Nothing is told about a question that was withdrawn, or whose thread has ended, while it was being asked", async () => {
  const { state, told, grants } = withGrants()
  const open: Array<(answer: WatchAnswer) => void> = []
  state.answer = () => new Promise((resolve) => open.push(resolve))
  grants.ask("t", 1, "bot", request)
  grants.ask("gone", 1, "bot", request)
  // One that is being asked is not asked a second time.
  const rechecked = grants.recheck()
  grants.withdraw("t", 1)
  grants.threadGone("gone")
  for (const resolve of open) resolve(undefined)
  await rechecked
  await settled()
  await grants.recheck()
  expect([told, state.checks]).toEqual([[], 2])
})
