/** What a worker makes of the rows of the hub: their count, their numbers, and which watch they belong to. */
import { beforeEach, expect, test } from "vitest"
import type { ModuleWorker } from "../../../../src/host/dispatcher/worker/module-worker.ts"
import type { ModuleWorkerReport } from "../../../../src/host/dispatcher/worker/module-worker-interface.ts"
import type { Delivery } from "../../../../src/host/hub/deliveries.ts"
import { ManualClock } from "../../../runtime/manual-clock.ts"
import { assignmentOf, workerAlone } from "./worker-alone.ts"

let reports: ModuleWorkerReport[]
let woken: string[]
let values: Array<Uint8Array | undefined>
let rounds: Array<() => void>
let worker: ModuleWorker
let clock: ManualClock
let run: () => void

const load = (module: string, slot: number, kind = "ConfigMap", allowBookmarks = false): void => {
  worker.load(assignmentOf(module, 7, slot), (calls) => ({
    start: () => calls.watch(0n, { apiVersion: "v1", kind, allowBookmarks } as never),
    wakeFuture: () => true,
    wakeStream: (id, value) => {
      clock.advance(2)
      values.push(value)
      woken.push(`${id} ${value === undefined ? "end" : Buffer.from(value).toString()}`)
      return true
    },
    memoryBytes: 65_536,
  }))
  run()
}

const start = (lastSubscription = 0): void => {
  clock = new ManualClock()
  const alone = workerAlone(clock, lastSubscription)
  worker = alone.worker
  reports = alone.reports
  rounds = alone.rounds
  run = alone.run
  load("m", 1)
}

beforeEach(() => {
  woken = []
  values = []
})

const row = (number: number, subscription = 1): Delivery => ({
  subscription,
  number,
  change: {
    type: "added",
    key: "n/a",
    uid: "u",
    version: String(number),
    bytes: Buffer.from(`{"row":${number}}`),
    isFinalStateUnknown: false,
  },
})
const added = (number: number): string => `0 {"type":"ADDED","object":{"row":${number}}}`

test("a module with much to do lets the others run after its slice, and the event loop after each round", () => {
  start()
  load("other", 2)
  worker.deliver([1, 2, 3, 4].map((number) => row(number)))
  worker.deliver([row(1, 2)])
  expect(rounds).toHaveLength(1)
  rounds.shift()?.()
  expect(woken).toEqual([added(1), added(2), added(3), added(1)])
  rounds.shift()?.()
  expect(woken.slice(4)).toEqual([added(4)])
  expect(rounds).toEqual([])
})

test("a released module is not entered again", () => {
  start()
  worker.deliver([row(1)])
  worker.release("m")
  run()
  expect(woken).toEqual([])
})

test("rows without a hole are passed on, and nothing is missed", () => {
  start()
  worker.deliver([row(1), row(2)])
  worker.deliver([row(3)])
  run()
  expect(woken).toEqual([added(1), added(2), added(3)])
  expect(reports.map(({ type }) => type)).toEqual(["watch"])
})

test("a hole is told with the number of rows, and the watch ends with 410, so that the guest lists again", () => {
  start()
  worker.deliver([row(1), row(4), row(5)])
  run()
  expect(reports).toContainEqual({ type: "missed", module: "m", incarnation: 7, rows: 2 })
  expect(reports.at(-1)).toEqual({ type: "unwatched", subscription: 1, isExpired: false })
  expect(woken).toEqual([added(1), expect.stringMatching(/"ERROR".*"reason":"Expired","code":410/), "0 end"])
})

test("an expired row ends the watch, and the report says why, so that its module can be slowed", () => {
  start()
  const { change } = row(1)
  worker.deliver([{ ...row(1), change: { ...change, type: "expired", bytes: Buffer.from('{"code":410}') } }])
  run()
  expect(reports.at(-1)).toEqual({ type: "unwatched", subscription: 1, isExpired: true })
  expect(woken).toEqual(['0 {"type":"ERROR","object":{"code":410}}', "0 end"])
})

test("a lost first row is noticed as well, and a row that comes twice", () => {
  start()
  worker.deliver([row(2)])
  expect(reports).toContainEqual({ type: "missed", module: "m", incarnation: 7, rows: 1 })
  start()
  worker.deliver([row(1), row(1)])
  expect(reports).toContainEqual({ type: "missed", module: "m", incarnation: 7, rows: 1 })
})

test("a subscription has a number that no other has had, whose rows are dropped", () => {
  start(41)
  expect(reports).toMatchObject([{ type: "watch", subscription: 42 }])
  worker.deliver([row(9, 1), row(1, 42)])
  run()
  expect(woken).toEqual([added(1)])
})

test("a watch that its module cancels ends at the hub, and nothing more of it comes to the guest", () => {
  start()
  let cancel = (_id: bigint): void => undefined
  worker.load(assignmentOf("c", 7, 2), (calls) => ({
    start: () => {
      calls.watch(0n, { apiVersion: "v1", kind: "Pod" } as never)
      calls.watch(1n, { apiVersion: "v1", kind: "Secret" } as never)
      cancel = (id) => calls.cancel(id)
    },
    wakeFuture: () => true,
    wakeStream: (id, value) => {
      woken.push(`${id} ${value === undefined ? "end" : "value"}`)
      return true
    },
    memoryBytes: 65_536,
  }))
  run()
  cancel(0n)
  cancel(7n)
  expect(reports.slice(3)).toEqual([{ type: "unwatched", subscription: 2, isExpired: false }])
  worker.deliver([row(1, 2), row(1, 3)])
  run()
  expect(woken).toEqual(["1 value"])
})

test("modules that get the same change get the same copy of it, and each its own bookmark", () => {
  start()
  load("n", 2)
  const { change } = row(1)
  worker.deliver([
    { subscription: 1, number: 1, change },
    { subscription: 2, number: 1, change },
    { subscription: 1, number: 2, change: { ...change, type: "modified" } },
  ])
  run()
  expect(woken.map((text) => text.slice(2, 18)).sort()).toEqual([
    '{"type":"ADDED",',
    '{"type":"ADDED",',
    '{"type":"MODIFIE',
  ])
  const [first, ...others] = values.filter((value) => Buffer.from(value ?? []).includes("ADDED"))
  expect(others).toHaveLength(1)
  expect(others[0]).toBe(first)

  load("pods", 3, "Pod", true)
  load("secrets", 4, "Secret", true)
  woken = []
  const mark = { type: "synced", key: "", uid: "", version: "7", bytes: Buffer.alloc(0) } as const
  const synced = { ...mark, isFinalStateUnknown: false }
  worker.deliver([
    { subscription: 3, number: 1, change: synced },
    { subscription: 4, number: 1, change: synced },
  ])
  run()
  expect(woken).toEqual([expect.stringContaining('"kind":"Pod"'), expect.stringContaining('"kind":"Secret"')])
  // As an API server marks it; later bookmarks have no such mark.
  worker.deliver([{ subscription: 3, number: 2, change: { ...synced, type: "bookmark" } }])
  run()
  const metadataOf = (text = ""): unknown => JSON.parse(text.slice(2)).object.metadata
  expect([metadataOf(woken[0]), metadataOf(woken[2])]).toEqual([
    { resourceVersion: "7", annotations: { "k8s.io/initial-events-end": "true" } },
    { resourceVersion: "7" },
  ])
})
