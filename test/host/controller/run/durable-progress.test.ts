/** Controllers that keep a checkpoint: what they are told of deletions that happened while they did not run. */
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import {
  type ControllerCluster,
  type ControllerDefinition,
  defineController,
  type LeaderElectionOptions,
  type ObjectChange,
  type ReconciledRun,
  TerminalError,
} from "../../../../src/host/controllers.ts"
import type { ApiObject, Kind } from "../../../../src/kube/index.ts"
import { temporaryDirectory } from "../../../harness/temporary-directory.ts"
import { startCluster, type TestCluster, type Widget, widgetKind } from "../running.ts"

const widgets = "example.com/v1.Widget"
const namespaces: Kind = {
  gvk: { group: "", version: "v1", kind: "Namespace" },
  plural: "namespaces",
  namespaced: false,
}

/** A controller that writes down what it is told; `fails` makes runs fail. */
const chronicler = (
  more: Partial<ControllerDefinition<Widget>> = {},
  fails: (key: string) => boolean = () => false,
) => {
  const story: string[] = []
  const controller = defineController<Widget>({
    name: "chronicler",
    for: widgets,
    checkpoint: true,
    reconcile: ({ key, object }) => {
      if (fails(key)) throw new Error("the other system is down")
      story.push(`${object === undefined ? "gone" : "there"} ${key}`)
    },
    ...more,
  })
  return { controller, story }
}

const put = (cluster: TestCluster, name: string, metadata: Readonly<Record<string, unknown>> = {}): void => {
  cluster.sandbox.put("v1.ConfigMap", {
    metadata: { namespace: "shop", ...metadata, name },
    data: { secret: "hunter2" },
  })
}

test("a deletion while the process was down wakes the key after the start, once", async () => {
  const cluster = await startCluster()
  const checkpoint = { directory: temporaryDirectory() }
  const first = chronicler()
  const { metadata: a } = await cluster.createWidget("a")
  await cluster.createWidget("b")
  const running = await cluster.run([first.controller], { checkpoint })
  await cluster.until(() => first.story.length === 2)
  await cluster.passing(running.close())
  await cluster.api.delete(widgetKind, a)

  const second = chronicler()
  const again = await cluster.run([second.controller], { checkpoint })
  await cluster.until(() => second.story.length === 2)
  expect([...second.story].sort()).toEqual(["gone default/a", "there default/b"])
  // So that the removal is gathered and written.
  await cluster.until(() => cluster.clock.monotonicMs() > 1000)
  await cluster.passing(again.close())

  const third = chronicler()
  await cluster.run([third.controller], { checkpoint })
  await cluster.until(() => third.story.length === 1)
  expect(third.story).toEqual(["there default/b"])
})

test("without a checkpoint nothing tells of it, which is what the option is for", async () => {
  const cluster = await startCluster()
  const first = chronicler({ checkpoint: false })
  const { metadata: a } = await cluster.createWidget("a")
  await cluster.createWidget("b")
  const running = await cluster.run([first.controller])
  await cluster.until(() => first.story.length === 2)
  await cluster.passing(running.close())
  await cluster.api.delete(widgetKind, a)
  const second = chronicler({ checkpoint: false })
  await cluster.run([second.controller])
  await cluster.until(() => second.story.length === 1)
  expect(second.story).toEqual(["there default/b"])
})

test("owners and maps get the last known labels and owners, and no data", async () => {
  const cluster = await startCluster()
  const checkpoint = { directory: temporaryDirectory() }
  const changes: Array<ObjectChange<ApiObject>> = []
  const definition = {
    owns: ["v1.ConfigMap"],
    watches: [
      {
        kind: "v1.ConfigMap",
        labelSelector: "of",
        predicate: (change: ObjectChange<ApiObject>) => {
          changes.push(change)
          return true
        },
        map: ({ metadata }: ApiObject) => [`default/${metadata.labels?.of}`],
      },
    ],
  }
  const owner = (await cluster.createWidget("owner")).metadata
  await cluster.createWidget("mapped")
  const reference = {
    apiVersion: "example.com/v1",
    kind: "Widget",
    name: "owner",
    uid: owner.uid ?? "",
    controller: true,
  }
  put(cluster, "owned", { namespace: "default", ownerReferences: [reference] })
  put(cluster, "labelled", { labels: { of: "mapped" } })
  const first = chronicler(definition)
  const running = await cluster.run([first.controller], { checkpoint })
  await cluster.until(() => first.story.length >= 2)
  await cluster.passing(running.close())
  cluster.sandbox.delete("v1.ConfigMap", "default", "owned")
  cluster.sandbox.delete("v1.ConfigMap", "shop", "labelled")
  await cluster.api.delete(widgetKind, { namespace: "default", name: "owner" })
  await cluster.api.delete(widgetKind, { namespace: "default", name: "mapped" })

  changes.length = 0
  // The subject's own deletions are refused here, so only those of others wake.
  const second = chronicler({ ...definition, for: { kind: widgets, predicate: () => false } })
  await cluster.run([second.controller], { checkpoint })
  await cluster.until(() => second.story.length >= 2)
  expect([...second.story].sort()).toEqual(["gone default/mapped", "gone default/owner"])
  expect(changes).toMatchObject([{ previous: { metadata: { name: "labelled" } }, isFinalStateUnknown: true }])
  expect(Object.keys(changes[0]?.previous ?? {})).toEqual(["apiVersion", "kind", "metadata"])
})

test("an object that was deleted and created again is told as both", async () => {
  const cluster = await startCluster()
  const checkpoint = { directory: temporaryDirectory() }
  const told: string[] = []
  const definition = {
    watches: [
      {
        kind: "v1.ConfigMap",
        predicate: ({ previous, current }: ObjectChange<ApiObject>) => {
          told.push(`${previous?.metadata.uid ?? ""} > ${current?.metadata.uid ?? ""}`)
          return true
        },
        map: ({ metadata }: ApiObject) => [`default/${metadata.name}`],
      },
    ],
  }
  const uid = (): string => cluster.sandbox.get("v1.ConfigMap", "shop", "a")?.metadata.uid ?? ""
  put(cluster, "a")
  const former = uid()
  const first = chronicler(definition)
  const running = await cluster.run([first.controller], { checkpoint })
  await cluster.until(() => first.story.length === 1)
  await cluster.passing(running.close())
  cluster.sandbox.delete("v1.ConfigMap", "shop", "a")
  put(cluster, "a")
  told.length = 0
  const second = chronicler(definition)
  await cluster.run([second.controller], { checkpoint })
  await cluster.until(() => second.story.length === 1)
  expect(told).toEqual([`${former} > `, ` > ${uid()}`])
})

test("a deletion that was not dealt with is told again: a run that failed does not count", async () => {
  const cluster = await startCluster()
  const checkpoint = { directory: temporaryDirectory() }
  let isDown = false
  const first = chronicler({}, () => isDown)
  const { metadata } = await cluster.createWidget("a")
  const running = await cluster.run([first.controller], { checkpoint })
  await cluster.until(() => first.story.length === 1)
  isDown = true
  await cluster.api.delete(widgetKind, metadata)
  await cluster.until(() => cluster.troubles.some((line) => line.includes("the other system is down")))
  await cluster.passing(running.close())
  const second = chronicler()
  await cluster.run([second.controller], { checkpoint })
  await cluster.until(() => second.story.length === 1)
  expect(second.story).toEqual(["gone default/a"])
})

test.each([
  ["by a TerminalError", () => Promise.reject(new TerminalError({ detail: "it never had an account" }))],
  [
    "because a namespace ends",
    (cluster: ControllerCluster) =>
      cluster.create({ apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "ending", name: "epitaph" } }),
  ],
])("a deletion whose run was given up %s is not told again", async (_why, giveUp) => {
  const cluster = await startCluster({ lifecycle: true })
  await cluster.api.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "ending" } })
  put(cluster, "kept", { namespace: "ending", finalizers: ["example.com/kept"] })
  await cluster.api.delete(namespaces, { name: "ending" })
  const checkpoint = { directory: temporaryDirectory() }
  const { metadata } = await cluster.createWidget("a")
  await cluster.createWidget("b")
  const outcomes: string[] = []
  const first = chronicler({
    reconcile: async ({ object, cluster: access }) => {
      if (object === undefined) await giveUp(access)
    },
  })
  const onReconciled = ({ key, outcome }: ReconciledRun) => outcomes.push(`${outcome} ${key}`)
  const running = await cluster.run([first.controller], { checkpoint, onReconciled })
  await cluster.until(() => outcomes.length === 2)
  await cluster.api.delete(widgetKind, metadata)
  await cluster.until(() => outcomes.length === 3)
  expect(outcomes[2]).toBe("given-up default/a")
  await cluster.passing(running.close())
  const second = chronicler()
  const again = await cluster.run([second.controller], { checkpoint })
  await cluster.until(() => second.story.length > 0)
  await cluster.passing(again.close())
  expect(second.story).toEqual(["there default/b"])
})

test("a deletion is told again although an earlier one of the same object was dealt with meanwhile", async () => {
  const cluster = await startCluster()
  const checkpoint = { directory: temporaryDirectory() }
  const failing = new Set(["default/x", "default/y"])
  let deletions = 0
  const definition: Partial<ControllerDefinition<Widget>> = {
    watches: [
      {
        kind: "v1.ConfigMap",
        labelSelector: "of",
        predicate: ({ current }: ObjectChange<ApiObject>) => {
          if (current === undefined) deletions++
          return true
        },
        map: ({ metadata }: ApiObject) => [`default/${metadata.labels?.of}`],
      },
    ],
  }
  const first = chronicler(definition, (key) => failing.has(key))
  const running = await cluster.run([first.controller], { checkpoint })
  const failed = (key: string) => cluster.until(() => cluster.troubles.some((line) => line.includes(key)))
  put(cluster, "a", { labels: { of: "x" } })
  await failed("default/x")
  put(cluster, "a")
  put(cluster, "a", { labels: { of: "y" } })
  await failed("default/y")
  put(cluster, "a")
  await cluster.until(() => deletions === 2)
  failing.delete("default/x")
  await cluster.until(() => first.story.includes("gone default/x"))
  // So that a removal would be written.
  const now = cluster.clock.monotonicMs()
  await cluster.until(() => cluster.clock.monotonicMs() > now + 1000)
  await cluster.passing(running.close())
  const second = chronicler(definition)
  await cluster.run([second.controller], { checkpoint })
  await cluster.until(() => second.story.length === 1)
  expect(second.story).toEqual(["gone default/y"])
})

test("while the disk is full the controller waits, which is said, and others go on; with room it goes on where it was", async () => {
  const cluster = await startCluster()
  const checkpoint = { directory: temporaryDirectory(), maximumBytes: 64 * 1024 }
  const durable = chronicler({ watches: [{ kind: "v1.ConfigMap", map: () => [] }] })
  const other = chronicler({ name: "other", checkpoint: false })
  const running = await cluster.run([durable.controller, other.controller], { checkpoint })
  const waiting = () => running.statistics().map(({ isWaitingForCheckpoint }) => isWaitingForCheckpoint)
  await cluster.createWidget("before")
  await cluster.until(() => durable.story.length === 1 && other.story.length === 1)
  const labels = { text: "x".repeat(60) }
  for (let index = 0; index < 500; index++) put(cluster, `filler-${index}`, { labels })
  await cluster.until(() => cluster.troubles.some((line) => line.startsWith("chronicler waits: ")))
  expect(cluster.troubles.join("\n")).toMatch(/chronicler waits: checkpoint .*: there is no space for it; free some/)
  await cluster.createWidget("after")
  await cluster.until(() => other.story.includes("there default/after"))
  await cluster.until(() => cluster.clock.monotonicMs() > 10_000)
  expect(durable.story).toEqual(["there default/before"])
  expect(waiting()).toEqual([true, false])
  for (let index = 0; index < 500; index++) cluster.sandbox.delete("v1.ConfigMap", "shop", `filler-${index}`)
  await cluster.until(() => durable.story.includes("there default/after"))
  expect(cluster.troubles).toContainEqual("chronicler continues: its checkpoint is written")
  expect(cluster.troubles.filter((line) => line.includes("waits"))).toHaveLength(1)
  expect(waiting()).toEqual([false, false])
})

test("a checkpoint that another process has open is waited for, and the wait ends with the process", async () => {
  const cluster = await startCluster()
  const checkpoint = { directory: temporaryDirectory() }
  await cluster.createWidget("a")
  const first = chronicler()
  const running = await cluster.run([first.controller], { checkpoint })
  await cluster.until(() => first.story.length === 1)
  const second = chronicler()
  const waiting = await cluster.run([second.controller], { checkpoint })
  await cluster.until(() => cluster.troubles.some((line) => line.includes("has it open")))
  expect(waiting.statistics()).toMatchObject([{ state: "waiting", isWaitingForCheckpoint: true }])
  const third = chronicler()
  const impatient = await cluster.run([third.controller], { checkpoint })
  await cluster.until(() => cluster.troubles.filter((line) => line.includes("has it open")).length === 2)
  await cluster.passing(impatient.close())
  await cluster.passing(running.close())
  await cluster.until(() => second.story.length === 1)
  await cluster.passing(waiting.started)
  expect(waiting.statistics()).toMatchObject([{ state: "reconciling", isWaitingForCheckpoint: false }])
  expect(third.story).toEqual([])
})

test("a leader that loses the Lease and gets it back is told what was deleted in between", async () => {
  const cluster = await startCluster()
  const checkpoint = { directory: temporaryDirectory() }
  const leases: LeaderElectionOptions = { name: "lock" }
  const { controller, story } = chronicler()
  const { metadata } = await cluster.createWidget("a")
  const running = await cluster.run([controller], { checkpoint, leaderElection: leases })
  await cluster.until(() => story.length === 1)
  cluster.sandbox.faults.respond("leases", 500, { times: 1000 })
  await cluster.until(() => !running.isLeader, 500)
  await cluster.api.delete(widgetKind, metadata)
  cluster.sandbox.faults.clear()
  await cluster.until(() => story.length === 2, 100)
  expect(story).toEqual(["there default/a", "gone default/a"])
})

test("a controller that keeps a checkpoint is refused without a directory for it", async () => {
  const cluster = await startCluster()
  await expect(cluster.run([chronicler().controller])).rejects.toThrow(
    /chronicler.*it keeps a checkpoint, but no directory is given/,
  )
})

test("one that keeps none writes none", async () => {
  const cluster = await startCluster()
  const directory = join(temporaryDirectory(), "state")
  const { controller, story } = chronicler({ checkpoint: false })
  await cluster.createWidget("a")
  await cluster.run([controller], { checkpoint: { directory } })
  await cluster.until(() => story.length === 1)
  expect(existsSync(directory) ? readdirSync(directory) : []).toEqual([])
})
