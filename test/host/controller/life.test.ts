/** What outlives a run: finalizers, caches and indexes, leadership, the end. */

import { getEventListeners } from "node:events"
import { describe, expect, test } from "vitest"
import {
  type ApiObject,
  defineController,
  InvalidControllerError,
  type LeaderElectionOptions,
  NotWatchedError,
  type RunningControllers,
  runControllers,
} from "../../../src/host/controllers.ts"
import { kinds } from "../../../src/kube/index.ts"
import { startCluster, type Widget, widgetKind } from "./running.ts"

const widgets = "example.com/v1.Widget"

describe("A finalizer", () => {
  test("is on the object before the first reconcile, and removed only after a clean-up that succeeded", async () => {
    const { run, api, createWidget, until } = await startCluster()
    const story: string[] = []
    const external = new Set<string>()
    let failures = 2
    const careful = defineController<Widget>({
      name: "careful",
      for: widgets,
      finalizer: {
        name: "example.com/external",
        cleanUp: ({ name, object }) => {
          story.push(`clean ${name} ${object.spec.size}`)
          if (failures-- > 0) throw new Error("the other system is down")
          external.delete(name)
          return undefined
        },
      },
      reconcile: ({ name, object }) => {
        if (object === undefined) return void story.push(`gone ${name}`)
        story.push(`reconcile ${name} ${object.metadata.finalizers?.join()}`)
        external.add(name)
      },
    })
    const { metadata } = await createWidget("a", 1)
    await run([careful])
    await until(() => external.has("a"))
    await api.delete(widgetKind, metadata)
    await until(() => story.includes("gone a"))
    expect(external.size).toBe(0)
    expect(story[0]).toBe("reconcile a example.com/external")
    expect(story.filter((line) => line.startsWith("clean"))).toEqual(["clean a 1", "clean a 1", "clean a 1"])
    expect(story.at(-1)).toBe("gone a")
  })

  test("of another controller holds the object, which is not cleaned up twice", async () => {
    const { run, api, createWidget, until } = await startCluster()
    let cleaned = 0
    const careful = defineController<Widget>({
      name: "careful",
      for: widgets,
      finalizer: { name: "example.com/mine", cleanUp: () => void cleaned++ },
      reconcile: () => undefined,
    })
    const { metadata } = await createWidget("a", 1, { finalizers: ["example.com/other"] })
    await run([careful])
    const finalizers = async () => (await api.get(widgetKind, metadata)).metadata.finalizers
    await until(async () => (await finalizers())?.length === 2)
    await api.delete(widgetKind, metadata)
    await until(async () => (await finalizers())?.join() === "example.com/other")
    await api.patch(widgetKind, metadata, "merge", { metadata: { labels: { still: "there" } } })
    await api.patch(widgetKind, metadata, "merge", { metadata: { finalizers: [] } })
    await until(async () => (await api.list(widgetKind)).items.length === 0)
    expect(cleaned).toBe(1)
  })
})

describe("Cached reads", () => {
  test("find objects by key, namespace, labels, owner and own indexes, and see own writes at once", async () => {
    const { run, sandbox, createWidget, until } = await startCluster()
    const found: unknown[] = []
    const names = (objects: ReadonlyArray<ApiObject>) => objects.map(({ metadata }) => metadata.name).sort()
    const reader = defineController<Widget>({
      name: "reader",
      for: widgets,
      reads: ["v1.ConfigMap"],
      indexes: [
        { kind: "v1.ConfigMap", name: "colour", valuesOf: ({ data }) => [(data as { colour: string }).colour] },
      ],
      reconcile: async ({ object, cluster }) => {
        if (object === undefined) return
        const maps = cluster.cached("v1.ConfigMap")
        const reference = { apiVersion: "example.com/v1", kind: "Widget", name: "a", uid: object.metadata.uid ?? "" }
        const ownerReferences = [{ ...reference, controller: true }]
        // From now on only own writes can change the cache.
        sandbox.faults.stall("configmaps")
        const metadata = { namespace: "default", generateName: "made-", ownerReferences }
        const made = await cluster.create({ apiVersion: "v1", kind: "ConfigMap", metadata, data: { colour: "blue" } })
        found.push(
          maps.get({ namespace: "default", name: "one" })?.metadata.name,
          maps.get("other/three")?.metadata.name,
          names(maps.list({ namespace: "default", labelSelector: "app in (web)" })),
          names(maps.list({ labelSelector: { matchLabels: { app: "web" } } })),
          names(maps.byIndex("colour", "red")),
          names(maps.ownedBy(object)).length,
          maps.get(made.metadata)?.metadata.uid === made.metadata.uid,
        )
        await cluster.delete(made)
        found.push(maps.get(made.metadata))
        expect(() => Object.assign(maps.get("default/one")?.metadata.labels ?? {}, { app: "changed" })).toThrow(
          TypeError,
        )
        expect(() => maps.byIndex("size", "1")).toThrow(RangeError)
        expect(() => maps.list({ labelSelector: "a in" })).toThrow(RangeError)
        expect(() => cluster.cached("v1.Secret")).toThrow(NotWatchedError)
        found.push("end")
      },
    })
    const put = (name: string, namespace: string, app: string, colour: string) =>
      sandbox.put("v1.ConfigMap", { metadata: { name, namespace, labels: { app } }, data: { colour } })
    put("one", "default", "web", "red")
    put("two", "default", "db", "red")
    put("three", "other", "web", "green")
    await createWidget("a")
    await run([reader])
    await until(() => found.includes("end"))
    expect(found).toEqual(["one", "three", ["one"], ["one", "three"], ["one", "two"], 1, true, undefined, "end"])
  })

  test("survive an index that throws, which is reported and leaves the object out of that index", async () => {
    const { run, sandbox, createWidget, until, troubles } = await startCluster()
    const found: unknown[] = []
    const reader = defineController<Widget>({
      name: "reader",
      for: widgets,
      reads: ["v1.ConfigMap"],
      indexes: [
        { kind: "v1.ConfigMap", name: "colour", valuesOf: ({ data }) => [(data as { colour: string }).colour.trim()] },
      ],
      reconcile: ({ cluster }) => {
        const maps = cluster.cached("v1.ConfigMap")
        found.push([maps.list().length, maps.byIndex("colour", "red").length])
      },
    })
    sandbox.put("v1.ConfigMap", { metadata: { name: "plain", namespace: "default" }, data: {} })
    sandbox.put("v1.ConfigMap", { metadata: { name: "red", namespace: "default" }, data: { colour: "red" } })
    await createWidget("a")
    await run([reader])
    await until(() => found.length > 0)
    expect(found).toEqual([[2, 1]])
    expect(troubles[0]).toContain("reader: the index colour threw for v1.ConfigMap default/plain: ")
  })

  test("of any number of controllers cost the server one watch for each selection", async () => {
    const { run, sandbox, createWidget, until } = await startCluster()
    await createWidget("a")
    let runs = 0
    const many = Array.from({ length: 20 }, (_, index) =>
      defineController({
        name: `watcher-${index}`,
        for: widgets,
        owns: ["v1.ConfigMap"],
        watches: [{ kind: "v1.ConfigMap", labelSelector: "app=web", map: () => [] }],
        reconcile: () => void runs++,
      }),
    )
    const running = await run(many)
    await until(() => runs === 20)
    await running.started
    const watches = (resource: string) => sandbox.requests.count({ resource, verb: "watch" })
    expect([watches("widgets"), watches("configmaps")]).toEqual([1, 2])
  })
})

describe("Leader election", () => {
  const leases = { namespace: "default", name: "widgets" }

  /** Two processes, each with a controller that says which of them ran. */
  const twoProcesses = async (options: Partial<LeaderElectionOptions> = {}) => {
    const cluster = await startCluster()
    const ran: string[] = []
    const process = (identity: string): Promise<RunningControllers> =>
      cluster.run(
        [
          defineController<Widget>({
            name: "led",
            for: widgets,
            reconcile: ({ name }) => void ran.push(`${identity} ${name}`),
          }),
        ],
        { leaderElection: { name: "widgets", identity, ...options } },
      )
    const lease = async () => (await cluster.api.get(kinds.leases, leases)).spec as Readonly<Record<string, unknown>>
    return { ...cluster, ran, process, lease }
  }

  test("lets one process reconcile, and the next at once when that one ends", async () => {
    const { process, ran, createWidget, until, passing, lease } = await twoProcesses()
    await createWidget("a")
    const first = await process("first")
    await until(() => ran.includes("first a"))
    const second = await process("second")
    await until(() => second.statistics()[0]?.state === "standby")
    await createWidget("b")
    await until(() => ran.includes("first b"))
    expect([first.isLeader, second.isLeader]).toEqual([true, false])
    expect(await lease()).toMatchObject({ holderIdentity: "first", leaseDurationSeconds: 15, leaseTransitions: 0 })
    await passing(first.close())
    expect(await lease()).toMatchObject({ holderIdentity: "", leaseDurationSeconds: 1 })
    await until(() => ran.includes("second b"), 50)
    expect(ran.filter((line) => line.startsWith("second")).sort()).toEqual(["second a", "second b"])
    expect(await lease()).toMatchObject({ holderIdentity: "second", leaseTransitions: 1 })
  })

  test("waits for the lease of a process that vanished, and not longer", async () => {
    const { process, ran, clock, createWidget, until, api } = await twoProcesses()
    await createWidget("a")
    const spec = { holderIdentity: "vanished", leaseDurationSeconds: 15, renewTime: "2020-01-01T00:00:00.000000Z" }
    const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: leases, spec }
    await api.create(kinds.leases, lease)
    const begin = clock.monotonicMs()
    await process("next")
    await until(() => ran.includes("next a"), 20)
    expect(clock.monotonicMs() - begin).toBeGreaterThanOrEqual(15_000)
    expect(clock.monotonicMs() - begin).toBeLessThan(20_000)
  })

  test("stops a leader that cannot renew, before another may lead, and lets it lead again later", async () => {
    const { process, ran, clock, createWidget, until, sandbox, troubles } = await twoProcesses()
    await createWidget("a")
    const only = await process("only")
    await until(() => ran.includes("only a"))
    const cutAt = clock.monotonicMs()
    await sandbox.faults.refuseConnections()
    await until(() => !only.isLeader, 20)
    expect(clock.monotonicMs() - cutAt).toBeLessThanOrEqual(10_050)
    expect(only.statistics()[0]?.state).toBe("standby")
    expect(troubles).toContain("leadership lost: the lease default/widgets was not renewed in time")
    await sandbox.faults.acceptConnections()
    await until(() => ran.filter((line) => line === "only a").length === 2, 20)
    expect(only.isLeader).toBe(true)
  })

  test("aborts the runs of a leader that is replaced, whose later writes are refused", async () => {
    const { api, run, createWidget, until } = await startCluster()
    await createWidget("a")
    const errors: string[] = []
    let isRunning = false
    const long = defineController<Widget>({
      name: "long",
      for: widgets,
      reconcile: async ({ object, cluster, signal }) => {
        isRunning = true
        await until(() => signal.aborted)
        await cluster.patchStatus(object as Widget, { size: 9 }).catch((error) => errors.push(error.failure))
      },
    })
    const running = await run([long], { leaderElection: { name: "widgets", identity: "old" } })
    await until(() => isRunning)
    await api.patch(kinds.leases, leases, "merge", {
      spec: { holderIdentity: "new", renewTime: "2030-01-01T00:00:00.000000Z" },
    })
    await until(() => errors.length > 0)
    expect(errors).toEqual(["aborted"])
    expect(running.isLeader).toBe(false)
    expect((await api.get<Widget>(widgetKind, { namespace: "default", name: "a" })).status).toBeUndefined()
  })
})

describe("Closing", () => {
  test("lets current runs end and starts no others", async () => {
    const { run, createWidget, until, passing } = await startCluster()
    const story: string[] = []
    let release = false
    const slow = defineController<Widget>({
      name: "slow",
      for: widgets,
      concurrency: 1,
      reconcile: async ({ cluster, object }) => {
        story.push("begins")
        await until(() => release)
        await cluster.patchStatus(object as Widget, { size: 5 })
        story.push("ends")
      },
    })
    await createWidget("a")
    await createWidget("b")
    const running = await run([slow])
    await until(() => story.length === 1)
    const closing = running.close()
    release = true
    await passing(closing)
    expect(story).toEqual(["begins", "ends"])
    expect(running.statistics()[0]).toMatchObject({ state: "stopped", runs: 1, depth: 0 })
  })

  test("aborts runs that take longer than allowed, names those that ignore it, and leaves them", async () => {
    const { run, createWidget, until, passing, troubles } = await startCluster()
    let begun = false
    const deaf = defineController({
      name: "deaf",
      for: widgets,
      reconcile: () => {
        begun = true
        return new Promise<undefined>(() => undefined)
      },
    })
    await createWidget("a")
    const running = await run([deaf], { shutdownTimeoutMs: 2000 })
    await until(() => begun)
    await passing(running.close())
    expect(troubles).toEqual(["deaf default/a: is given up after 2000 ms"])
  })

  test("leaves no listener on the signal that could have asked for it", async () => {
    const { run, passing } = await startCluster()
    const { signal } = new AbortController()
    const running = await run([defineController({ name: "a", for: widgets, reconcile: () => undefined })], { signal })
    expect(getEventListeners(signal, "abort")).toHaveLength(1)
    await passing(running.close())
    expect(getEventListeners(signal, "abort")).toEqual([])
  })

  test("ends also controllers whose kind never came", async () => {
    const { run, passing } = await startCluster({ withWidgets: false })
    const running = await run([defineController({ name: "early", for: widgets, reconcile: () => undefined })])
    await passing(running.close())
    await running.started
    await running.closed
    expect(running.statistics()[0]?.state).toBe("stopped")
  })
})

describe("A definition", () => {
  const reconcile = () => undefined
  const problems: ReadonlyArray<readonly [string, Parameters<typeof defineController>[0]]> = [
    ["its name is not a DNS name", { name: "My Controller", for: widgets, reconcile }],
    ['"Pod" is not a kind such as v1.Pod', { name: "a", for: "Pod", reconcile }],
    ['label selector "a in"', { name: "a", for: { kind: widgets, labelSelector: "a in" }, reconcile }],
    [
      "over v1.Pod, which it does not watch",
      { name: "a", for: widgets, indexes: [{ kind: "v1.Pod", name: "i", valuesOf: () => [] }], reconcile },
    ],
    ["must be qualified", { name: "a", for: widgets, finalizer: { name: "mine", cleanUp: reconcile }, reconcile }],
    ["concurrency is 0", { name: "a", for: widgets, concurrency: 0, reconcile }],
    // As from a script, whose types nobody has checked.
    [
      'it has no member "own"; its members are name, for, owns,',
      { name: "a", for: widgets, own: ["v1.Pod"], reconcile } as never,
    ],
    ["subresource such as v1.Pod/status", { name: "a", for: widgets, writes: ["pods"], reconcile }],
  ]

  test.each(problems)("is refused by name: %s", (problem, definition) => {
    expect(() => defineController(definition)).toThrow(InvalidControllerError)
    expect(() => defineController(definition)).toThrow(problem)
  })

  test("may not have the name of another, nor election times that let two processes lead", async () => {
    const one = defineController({ name: "one", for: widgets, reconcile })
    await expect(runControllers([one, one], {})).rejects.toThrow(
      'controller "one": another controller has the same name',
    )
    const leaderElection = { name: "x", leaseDurationMs: 5000 }
    await expect(runControllers([one], { leaderElection })).rejects.toThrow("must be more than renewDeadlineMs")
  })
})
