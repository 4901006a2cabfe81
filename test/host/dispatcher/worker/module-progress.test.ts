/** A module with a checkpoint in its worker: what is on disk when the guest is entered, and what the next instance gets. */
import { copyFileSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { beforeEach, expect, onTestFinished, test } from "vitest"
import { Checkpoint } from "../../../../src/host/checkpoint/checkpoint.ts"
import { ModuleProgress, removeAfterMs } from "../../../../src/host/dispatcher/worker/module-progress.ts"
import type { ModuleWorker } from "../../../../src/host/dispatcher/worker/module-worker.ts"
import type { ModuleWorkerReport } from "../../../../src/host/dispatcher/worker/module-worker-interface.ts"
import type { WatchRequest } from "../../../../src/host/guest/abi-values.ts"
import type { HubChange } from "../../../../src/host/hub/hub-change.ts"
import { temporaryDirectory } from "../../../harness/temporary-directory.ts"
import { ManualClock } from "../../../runtime/manual-clock.ts"
import { assignmentOf, workerAlone } from "./worker-alone.ts"

const requestOf = (resourceVersion = ""): WatchRequest => ({
  apiVersion: "v1",
  group: "",
  kind: "ConfigMap",
  version: "v1",
  resourceVersion,
  includeUninitialized: false,
  allowBookmarks: true,
})

let directory: string
let clock: ManualClock
beforeEach(() => {
  directory = temporaryDirectory()
  clock = new ManualClock()
})

const change = (type: HubChange["type"], name: string, uid = name): HubChange => {
  const object = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace: "n", name, uid },
    data: { secret: "hunter2" },
  }
  const isMark = type === "synced" || type === "bookmark"
  const about = isMark
    ? { key: "", uid: "", bytes: Buffer.alloc(0) }
    : { key: `n/${name}`, uid, bytes: Buffer.from(JSON.stringify(object)) }
  return { type, ...about, version: "5", isFinalStateUnknown: false }
}

/** UIDs that would be known after SIGKILL now. */
const onDisk = (): ReadonlyArray<string> => {
  const copy = temporaryDirectory()
  for (const name of readdirSync(directory)) copyFileSync(join(directory, name), join(copy, name))
  const checkpoint = new Checkpoint({
    directory: copy,
    name: "module-m",
    clock: new ManualClock(),
    say: () => undefined,
  })
  try {
    const selection = JSON.stringify(["v1", "ConfigMap", "", "", ""])
    return checkpoint
      .selection(selection)
      .all()
      .map(({ metadata }) => metadata.uid)
      .sort()
  } finally {
    checkpoint.close()
  }
}

interface Instance {
  readonly worker: ModuleWorker
  readonly reports: ModuleWorkerReport[]
  /** `TYPE uid`, or `end`. */
  readonly told: string[]
  /** Delivers rows of a subscription, each in a frame of its own, and runs the guest. */
  readonly deliver: (subscription: number, ...changes: ReadonlyArray<HubChange>) => void
  readonly run: () => void
}

const start = (options: { request?: WatchRequest; entered?: (text: string) => void } = {}): Instance => {
  const { request = requestOf(), entered = () => undefined } = options
  const told: string[] = []
  const { worker, reports, run } = workerAlone(clock)
  let nextId = 0n
  worker.load({ ...assignmentOf("m", 1), checkpointDirectory: directory }, (calls) => ({
    start: () => calls.watch(nextId++, request),
    wakeFuture: () => true,
    wakeStream: (_id, value) => {
      const event = value && JSON.parse(Buffer.from(value).toString())
      const text =
        event === undefined ? "end" : `${event.type} ${event.object.metadata?.uid ?? event.object.code ?? ""}`
      entered(text)
      told.push(text)
      if (value === undefined) calls.watch(nextId++, request)
      return true
    },
    memoryBytes: 65_536,
  }))
  run()
  onTestFinished(() => worker.release("m"))
  const numbers = new Map<number, number>()
  const deliver: Instance["deliver"] = (subscription, ...changes) => {
    for (const each of changes) {
      const number = (numbers.get(subscription) ?? 0) + 1
      numbers.set(subscription, number)
      worker.deliver([{ subscription, number, change: each }])
      run()
    }
  }
  return { worker, reports, told, deliver, run }
}

test("an object is on disk before the guest is entered with it, and removed only after it has returned from its deletion", () => {
  const atEntry: unknown[] = []
  const { deliver, run } = start({ entered: (text) => atEntry.push([text, onDisk()]) })
  deliver(1, change("added", "a"), change("synced", ""), change("added", "b"), change("deleted", "a"))
  expect(atEntry).toEqual([
    ["ADDED a", ["a"]],
    ["BOOKMARK ", ["a"]],
    ["ADDED b", ["a", "b"]],
    ["DELETED a", ["a", "b"]],
  ])
  expect(onDisk()).toEqual(["a", "b"])
  clock.advance(removeAfterMs)
  run()
  expect(onDisk()).toEqual(["b"])
})

test("the next instance is told before `synced` of what was deleted meanwhile, with names, labels and owners only", () => {
  const first = start()
  first.deliver(1, change("added", "a"), change("added", "b"), change("added", "c"), change("synced", ""))
  first.worker.release("m")
  const values: unknown[] = []
  const second = start({ entered: (text) => values.push(text) })
  second.deliver(1, change("added", "b"), change("added", "c", "c2"), change("synced", ""))
  expect(second.told).toEqual(["ADDED b", "DELETED c", "ADDED c2", "DELETED a", "BOOKMARK "])
})

test("a guest that ends in the call with a deletion gets it again", () => {
  const first = start({
    entered: (text) => {
      if (text === "DELETED a") throw new Error("unreachable")
    },
  })
  first.deliver(1, change("added", "a"), change("synced", ""), change("deleted", "a"))
  expect(first.reports).toContainEqual({ type: "ended", module: "m", incarnation: 1, reason: "unreachable" })
  clock.advance(removeAfterMs)
  const second = start()
  second.deliver(1, change("synced", ""))
  expect(second.told).toEqual(["DELETED a", "BOOKMARK "])
})

test("an object that comes back and goes again stays on disk until the guest has returned from that deletion too", () => {
  const { worker, told, deliver, run } = start()
  deliver(1, change("added", "a"), change("synced", ""), change("deleted", "a"))
  const again = [change("added", "a"), change("deleted", "a")]
  worker.deliver(again.map((each, index) => ({ subscription: 1, number: 4 + index, change: each })))
  clock.advance(removeAfterMs)
  expect(told).toEqual(["ADDED a", "BOOKMARK ", "DELETED a"])
  expect(onDisk()).toEqual(["a"])
  run()
  expect(told.slice(3)).toEqual(["ADDED a", "DELETED a"])
  clock.advance(removeAfterMs)
  expect(onDisk()).toEqual([])
})

test("of two deletions of an object that come together, the return from the first one removes nothing", () => {
  const atEntry: unknown[] = []
  const { worker, told, deliver, run } = start({
    entered: () => {
      if (told.at(-1) === "DELETED a") clock.advance(removeAfterMs)
      if (told.length > 2) atEntry.push(onDisk())
    },
  })
  deliver(1, change("added", "a"), change("synced", ""))
  const rows = [change("deleted", "a"), change("added", "a"), change("deleted", "a")]
  worker.deliver(rows.map((each, index) => ({ subscription: 1, number: 3 + index, change: each })))
  run()
  expect(told.slice(2)).toEqual(["DELETED a", "ADDED a", "DELETED a"])
  expect(atEntry).toEqual([["a"], ["a"]])
})

test("a guest that lists by a request is told by a census, of which it gets nothing else", () => {
  const first = start({ request: requestOf("4") })
  expect(first.reports).toMatchObject([
    { type: "watch", subscription: 1, request: { resourceVersion: "4" } },
    { type: "watch", subscription: 2, request: { resourceVersion: "" } },
  ])
  first.deliver(2, change("added", "a"), change("added", "b"), change("added", "c"))
  first.deliver(1, change("deleted", "c"))
  // The census was read before.
  first.deliver(2, change("modified", "c"), change("synced", ""))
  expect(first.reports.at(-1)).toEqual({ type: "unwatched", subscription: 2, isExpired: false })
  expect(first.told).toEqual(["DELETED c"])
  clock.advance(removeAfterMs)
  first.run()
  expect(onDisk()).toEqual(["a", "b"])
  first.worker.release("m")
  const second = start({ request: requestOf("7") })
  second.deliver(1, change("bookmark", ""), change("added", "d"))
  second.deliver(2, change("added", "b"), change("added", "d"), change("synced", ""))
  expect(second.told).toEqual(["BOOKMARK ", "ADDED d", "DELETED a"])
})

test("a census that cannot be had ends its watch, so that the guest lists again and there is another", () => {
  const { worker, reports, told, run } = start({ request: requestOf("4") })
  worker.endWatch(2, 503, "ServiceUnavailable", "the hub is busy")
  run()
  expect(told).toEqual(["ERROR 503", "end"])
  expect(reports.filter(({ type }) => type === "unwatched")).toHaveLength(2)
  expect(reports.slice(-2)).toMatchObject([
    { type: "watch", subscription: 3 },
    { type: "watch", subscription: 4, request: { resourceVersion: "" } },
  ])
})

test("two watches of one selection are each told of a deletion", () => {
  const begin = (): ModuleProgress =>
    new ModuleProgress({
      directory,
      module: "m",
      clock,
      pass: () => undefined,
      changed: () => undefined,
      say: () => undefined,
    })
  const first = begin()
  for (const watch of [first.begin(requestOf()), first.begin(requestOf())]) watch.row(change("added", "a"), true)
  first.settle()
  first.close()
  const second = begin()
  onTestFinished(() => second.close())
  const told = [second.begin(requestOf()), second.begin(requestOf())].map((watch) =>
    watch.row(change("synced", ""), true).map(({ type, uid }) => `${type} ${uid}`),
  )
  expect(told).toEqual([
    ["deleted a", "synced "],
    ["deleted a", "synced "],
  ])
})

test("while the disk is full rows wait in their order, which is said; with room they are passed on", () => {
  const passed: string[] = []
  const said: string[] = []
  let changes = 0
  const progress = new ModuleProgress({
    directory,
    module: "m",
    clock,
    maximumBytes: 64 * 1024,
    pass: (_, { type, uid }) => passed.push(`${type} ${uid}`),
    changed: () => changes++,
    say: (detail) => said.push(detail),
  })
  onTestFinished(() => progress.close())
  const watch = progress.begin(requestOf())
  const fillers = Array.from({ length: 1000 }, (_, index) => `filler-${index}`)
  progress.hold(1, watch.row(change("added", "first"), true))
  progress.settle()
  for (const filler of fillers) progress.hold(1, watch.row(change("added", filler), true))
  progress.settle()
  progress.hold(1, watch.row(change("added", "last"), true))
  progress.settle()
  expect(passed).toEqual(["added first"])
  expect([progress.isWaiting, said]).toEqual([true, [expect.stringMatching(/^it waits: checkpoint .* no space/)]])
  clock.advance(5000)
  expect(said).toHaveLength(1)
  for (const filler of fillers) {
    watch.known.forget(filler, watch.known.gone(filler))
  }
  clock.advance(1000)
  expect(passed).toEqual(["added first", ...fillers.map((filler) => `added ${filler}`), "added last"])
  expect([progress.isWaiting, changes, said[1]]).toEqual([false, 1, "it continues: its checkpoint is written"])
  expect(onDisk()).toEqual(["first", "last"])
})

test("a checkpoint that cannot be opened ends the instance with the reason, so that it is tried again after its back-off", () => {
  const first = start()
  const second = start()
  expect(second.reports).toMatchObject([{ type: "ended", module: "m", reason: expect.stringMatching(/has it open/) }])
  first.deliver(1, change("added", "a"))
  expect(first.told).toEqual(["ADDED a"])
})
