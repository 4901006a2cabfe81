/** When controllers run, with what, and what follows from the outcome. */

import * as Effect from "effect/Effect"
import { describe, expect, test } from "vitest"
import {
  defineController,
  generationChanged,
  type Reconciliation,
  setControllerReference,
  TerminalError,
} from "../../../src/host/controllers.ts"
import { type ApiObject, kinds } from "../../../src/kube/index.ts"
import { turn } from "../../runtime/until.ts"
import { startCluster, type Widget, widgetKind } from "./running.ts"

const widgets = "example.com/v1.Widget"

interface ConfigMap extends ApiObject {
  readonly data?: Readonly<Record<string, string>>
}

const configMapOf = (widget: Widget) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: widget.metadata.name, namespace: widget.metadata.namespace },
  data: { size: String(widget.spec.size) },
})

/** Keeps a ConfigMap for each widget, and its size in the status. */
const keeper = defineController<Widget>({
  name: "keeper",
  for: widgets,
  owns: ["v1.ConfigMap"],
  reconcile: async ({ object, cluster }) => {
    if (object === undefined) return
    await cluster.apply(setControllerReference(object, configMapOf(object)))
    await cluster.patchStatus(object, { size: object.spec.size })
  },
})

describe("A controller", () => {
  test("brings about what each object asks for, when it is created, changed, or what it made is damaged", async () => {
    const { api, run, createWidget, until } = await startCluster()
    await createWidget("early", 1)
    const running = await run([keeper])
    /** The last changes have been looked at, so that what follows is not repaired by chance. */
    const quiet = async (): Promise<void> => {
      for (let still = 0; still < 20; still++) {
        await turn()
        if (running.statistics()[0]?.depth !== 0) still = 0
      }
    }
    const sizeOf = (name: string): Promise<string | undefined> =>
      api.get<ConfigMap>(kinds.configMaps, { namespace: "default", name }).then(
        ({ data }) => data?.size,
        () => undefined,
      )
    await until(async () => (await sizeOf("early")) === "1")
    const late = await createWidget("late", 2)
    await until(async () => (await sizeOf("late")) === "2")
    await api.patch(widgetKind, late.metadata, "merge", { spec: { size: 3 } })
    await until(async () => (await sizeOf("late")) === "3")
    await quiet()
    await api.delete(kinds.configMaps, { namespace: "default", name: "late" })
    await until(async () => (await sizeOf("late")) === "3")
    await quiet()
    await api.patch(kinds.configMaps, { namespace: "default", name: "late" }, "merge", { data: { size: "wrong" } })
    await until(async () => (await sizeOf("late")) === "3")
    const made = await api.get(kinds.configMaps, { namespace: "default", name: "late" })
    expect(made.metadata.ownerReferences).toMatchObject([{ kind: "Widget", name: "late", controller: true }])
    expect((await api.get<Widget>(widgetKind, late.metadata)).status).toEqual({ size: 3 })
  })

  test("waits for a kind that is not installed, says so once, and holds up no other controller", async () => {
    const { run, createWidget, installWidgets, until, sandbox, troubles } = await startCluster({ withWidgets: false })
    const seen: string[] = []
    const others = defineController({
      name: "others",
      for: "v1.ConfigMap",
      reconcile: ({ key }) => void seen.push(key),
    })
    sandbox.put("v1.ConfigMap", { metadata: { name: "here", namespace: "default" } })
    const sized: number[] = []
    const waiting = defineController<Widget>({
      name: "waiting",
      for: widgets,
      reconcile: ({ object }) => void sized.push(object?.spec.size ?? 0),
    })
    const running = await run([waiting, others])
    await until(() => seen.includes("default/here"))
    expect(running.statistics().map(({ state }) => state)).toEqual(["waiting", "reconciling"])
    await installWidgets()
    await createWidget("a", 7)
    await until(() => sized.includes(7), 50)
    await running.started
    expect(troubles).toEqual(["waiting for example.com/v1.Widget: it is not installed"])
  })

  test("a kind that is not installed is said with the one that was probably meant", async () => {
    const { run, until, troubles } = await startCluster()
    const mistyped = ["v1.Deployment", "apps/v1.Deploymnet", "example.com/v1.Wigdet"].map((kind, index) =>
      defineController({ name: `mistyped-${index}`, for: kind, reconcile: () => undefined }),
    )
    await run(mistyped)
    await until(() => troubles.length === 3)
    expect(troubles.toSorted()).toEqual([
      "waiting for apps/v1.Deploymnet: it is not installed; did you mean apps/v1.Deployment?",
      "waiting for example.com/v1.Wigdet: it is not installed; did you mean example.com/v1.Widget?",
      "waiting for v1.Deployment: it is not installed; did you mean apps/v1.Deployment?",
    ])
  })

  test("runs no key twice at once, and different keys side by side up to its limit", async () => {
    const { run, api, createWidget, until } = await startCluster()
    const active = new Map<string, number>()
    let most = 0
    let released = false
    const slow = defineController<Widget>({
      name: "slow",
      for: widgets,
      concurrency: 2,
      reconcile: async ({ key }) => {
        active.set(key, (active.get(key) ?? 0) + 1)
        expect(active.get(key)).toBe(1)
        most = Math.max(most, active.size)
        await until(() => released, 0)
        active.delete(key)
      },
    })
    for (const name of ["a", "b", "c"]) await createWidget(name)
    const running = await run([slow])
    await until(() => active.size === 2)
    const [busy = ""] = active.keys()
    const place = { namespace: "default", name: busy.slice("default/".length) }
    await api.patch(widgetKind, place, "merge", { spec: { size: 5 } })
    await api.patch(widgetKind, place, "merge", { spec: { size: 6 } })
    await until(() => running.statistics()[0]?.adds === 5)
    expect(running.statistics()[0]).toMatchObject({ depth: 3, runs: 0 })
    released = true
    // Two changes of one key during its run are one further run.
    await until(() => running.statistics()[0]?.runs === 4)
    expect(most).toBe(2)
    expect(running.statistics()[0]).toMatchObject({ name: "slow", runs: 4, failures: 0, depth: 0 })
  })

  test("retries a failure with growing delays, reports it, and forgets it after a success", async () => {
    const { run, clock, createWidget, until, troubles } = await startCluster()
    const at: number[] = []
    const failing = defineController({
      name: "failing",
      for: widgets,
      reconcile: async () => {
        at.push(clock.monotonicMs())
        if (at.length < 5) throw new TypeError("not yet")
      },
    })
    await createWidget("a")
    const running = await run([failing])
    await until(() => at.length === 5, 1)
    const delays = at.slice(1).map((time, index) => time - (at[index] ?? 0))
    expect(delays.map((ms) => Math.round(ms / 5))).toEqual([1, 2, 4, 8])
    const [first = "", ...others] = troubles
    // Of the stack only the lines of the controller are shown.
    expect(first).toMatch(/^failing default\/a: TypeError: not yet; again in 5 ms\n {4}at .*reconcile\.test\.ts\b/)
    expect(first).not.toMatch(/\/src\/|node:/)
    expect(others.map((detail) => /again in (\d+ ms)/.exec(detail)?.[1])).toEqual(["10 ms", "20 ms", "40 ms"])
    await until(() => running.statistics()[0]?.runs === 5)
    expect(running.statistics()[0]).toMatchObject({ failures: 4, retries: 4 })
  })

  test("counts an error that is returned, does not retry a terminal one, and repeats what asks for it", async () => {
    const { run, createWidget, until, troubles } = await startCluster()
    const runs = new Map<string, number>()
    const outcomes = defineController({
      name: "outcomes",
      for: widgets,
      reconcile: ({ name }) => {
        const times = (runs.get(name) ?? 0) + 1
        runs.set(name, times)
        if (name === "returns") return times === 1 ? new Error("returned") : undefined
        if (name === "terminal") throw new TerminalError({ detail: "spec.size must be odd" })
        return times < 3 ? { requeueAfterMs: 1000 } : undefined
      },
    })
    for (const name of ["returns", "terminal", "again"]) await createWidget(name)
    const running = await run([outcomes])
    await until(() => runs.get("again") === 3, 20)
    expect(Object.fromEntries(runs)).toEqual({ returns: 2, terminal: 1, again: 3 })
    expect(running.statistics()[0]).toMatchObject({ failures: 1, terminalFailures: 1, requeues: 2 })
    expect(troubles.some((detail) => detail === "outcomes default/terminal: spec.size must be odd")).toBe(true)
  })

  test("is retried rarely if the program is wrong, and runs again when the object changes; a failed request is retried", async () => {
    const { run, createWidget, sandbox, until, troubles } = await startCluster()
    const runs = new Map<string, number>()
    const wrong = defineController<Widget>({
      name: "wrong",
      for: widgets,
      reconcile: ({ name }) => {
        runs.set(name, (runs.get(name) ?? 0) + 1)
        if (name === "unreachable") throw new TypeError("fetch failed", { cause: new Error("ECONNREFUSED") })
        return (undefined as unknown as { readonly size: never }).size
      },
    })
    for (const name of ["mistaken", "unreachable"]) await createWidget(name)
    const running = await run([wrong])
    await until(() => runs.get("unreachable") === 12, 1000)
    expect(runs.get("mistaken")).toBe(10)
    const ofMistake = troubles.filter((detail) => detail.startsWith("wrong default/mistaken: TypeError"))
    expect(ofMistake.filter((detail) => /; again in \d+ m?s\n/.test(detail))).toHaveLength(9)
    expect(ofMistake.at(-1)).toContain(
      "; again in 1000 s or when something wakes it, as this is a mistake of the controller",
    )
    sandbox.put(widgets, { metadata: { name: "mistaken", namespace: "default" }, spec: { size: 2 } })
    await until(() => (runs.get("mistaken") ?? 0) > 10)
    expect(running.statistics()[0]?.terminalFailures).toBe(0)
  })

  test("is retried after one mistake, however often other failures came before", async () => {
    const { run, createWidget, until } = await startCluster()
    let runs = 0
    const recovering = defineController({
      name: "recovering",
      for: widgets,
      reconcile: () => {
        if (++runs <= 11) throw new Error("the server is away")
        if (runs === 12) throw new TypeError("the caches are behind")
      },
    })
    await createWidget("a")
    const running = await run([recovering])
    await until(() => runs === 13, 1000)
    expect(running.statistics()[0]).toMatchObject({ failures: 12 })
  })

  test("may be an Effect, whose failures are failures of the run", async () => {
    const { run, createWidget, until, troubles } = await startCluster()
    let runs = 0
    const effectful = defineController({
      name: "effectful",
      for: widgets,
      reconcile: ({ key }) =>
        Effect.gen(function* () {
          runs++
          if (runs === 1) yield* Effect.fail(new Error(`no luck with ${key}`))
          if (runs === 4) yield* Effect.fail(new TerminalError({ detail: "enough" }))
          return { requeueAfterMs: 5 }
        }),
    })
    await createWidget("a")
    const running = await run([effectful])
    await until(() => running.statistics()[0]?.terminalFailures === 1)
    expect(runs).toBe(4)
    expect(troubles.filter((detail) => detail.includes("no luck with default/a"))).toHaveLength(1)
  })

  test("misses no last state and no deletion while watches are cut, expire and are refused", async () => {
    const { run, sandbox, api, until } = await startCluster()
    const known = new Map<string, number>()
    const watcher = defineController<Widget>({
      name: "watcher",
      for: widgets,
      reconcile: ({ key, object }) => {
        if (object === undefined) known.delete(key)
        else known.set(key, object.spec.size)
      },
    })
    const running = await run([watcher])
    await until(() => running.statistics()[0]?.state === "reconciling")
    const put = (name: string, size: number): unknown =>
      sandbox.put(widgets, { metadata: { name, namespace: "default" }, spec: { size } })
    const faults = [
      () => sandbox.faults.hangUp("widgets"),
      () => sandbox.faults.expireWatches("widgets"),
      () => sandbox.faults.forceExpired("widgets", 1),
    ]
    for (let round = 0; round < 60; round++) {
      put(`w-${round % 7}`, round)
      faults[round % faults.length]?.()
      if (round % 5 === 4) sandbox.delete(widgets, "default", `w-${round % 7}`)
      const runs = running.statistics()[0]?.runs ?? 0
      // Sometimes in the middle of a reconnection, sometimes after it.
      if (round % 2 === 0) await until(() => (running.statistics()[0]?.runs ?? 0) > runs, 20)
    }
    const { items } = await api.list<Widget>(widgetKind)
    const last = new Map(items.map(({ metadata, spec }) => [`default/${metadata.name}`, spec.size]))
    await until(() => JSON.stringify([...known].sort()) === JSON.stringify([...last].sort()), 20)
    expect(known.size).toBeGreaterThan(0)
  })

  test("is not woken by changes that its predicate refuses", async () => {
    const { run, api, createWidget, until } = await startCluster()
    const sizes: unknown[] = []
    const specOnly = defineController<Widget>({
      name: "spec-only",
      for: { kind: widgets, predicate: generationChanged },
      reconcile: ({ object }) => void sizes.push(object?.spec.size ?? "gone"),
    })
    const all: unknown[] = []
    const everything = defineController<Widget>({
      name: "everything",
      for: widgets,
      reconcile: ({ object }) => void all.push(object?.status?.size ?? object?.spec.size ?? "gone"),
    })
    const { metadata } = await createWidget("a", 1)
    await run([specOnly, everything])
    await until(() => all.length === 1)
    await api.patch(widgetKind, metadata, "merge", { status: { size: 100 } }, { subresource: "status" })
    await until(() => all.includes(100))
    await api.patch(widgetKind, metadata, "merge", { spec: { size: 2 } })
    await until(() => sizes.length === 2)
    await api.delete(widgetKind, metadata)
    await until(() => sizes.length === 3)
    expect(sizes).toEqual([1, 2, "gone"])
  })

  test("is woken by other objects through a map, which may read what is watched; one that throws is reported", async () => {
    const { run, sandbox, createWidget, until, troubles } = await startCluster()
    const seen: string[] = []
    const mapped = defineController<Widget>({
      name: "mapped",
      for: widgets,
      watches: [
        {
          kind: "v1.Secret",
          map: ({ metadata }, reads) => {
            if (metadata.name === "broken") throw new Error("cannot be mapped")
            const all = reads.cached<Widget>(widgets).list({ namespace: metadata.namespace })
            return all.filter(({ spec }) => spec.size > 1).map((widget) => widget.metadata)
          },
        },
      ],
      reconcile: ({ key }) => void seen.push(key),
    })
    await createWidget("small", 1)
    await createWidget("large", 2)
    await createWidget("huge", 3)
    await run([mapped])
    await until(() => seen.length === 3)
    sandbox.put("v1.Secret", { metadata: { name: "broken", namespace: "default" } })
    sandbox.put("v1.Secret", { metadata: { name: "key", namespace: "default" } })
    await until(() => seen.length === 5)
    expect(seen.slice(3).sort()).toEqual(["default/huge", "default/large"])
    expect(troubles).toEqual(["v1.Secret default/broken: a predicate or map threw: cannot be mapped"])
  })

  test("learns that an object is gone, also one that was deleted before it started and left something behind", async () => {
    const { run, sandbox, createWidget, api, until } = await startCluster()
    const gone: string[] = []
    const cleaner = defineController<Widget>({
      name: "cleaner",
      for: widgets,
      owns: ["v1.ConfigMap"],
      reconcile: ({ key, object }) => void (object === undefined && gone.push(key)),
    })
    const owner = { apiVersion: "example.com/v1", kind: "Widget", name: "past", uid: "u-1", controller: true }
    sandbox.put("v1.ConfigMap", { metadata: { name: "left", namespace: "default", ownerReferences: [owner] } })
    const { metadata } = await createWidget("present")
    await run([cleaner])
    await until(() => gone.includes("default/past"))
    await api.delete(widgetKind, metadata)
    await until(() => gone.includes("default/present"))
  })

  test("has its signal aborted when a run takes too long, and is not run again for the key before that one ends", async () => {
    const { run, createWidget, until, troubles } = await startCluster()
    const reasons: string[] = []
    let runs = 0
    const stuck = defineController({
      name: "stuck",
      for: widgets,
      reconcileTimeoutMs: 500,
      reconcile: async ({ signal, cluster }: Reconciliation) => {
        runs++
        if (runs > 1) return
        await until(() => signal.aborted)
        reasons.push(String(signal.reason))
        await cluster.create(
          configMapOf({ metadata: { name: "x", namespace: "default" }, spec: { size: 1 } } as Widget),
        )
      },
    })
    await createWidget("a")
    const running = await run([stuck])
    await until(() => runs === 2)
    expect(reasons).toEqual(["Error: the run took longer than 500 ms"])
    expect(troubles[0]).toContain("stuck default/a: Error: it has run for more than 500 ms")
    // The write after the abort was refused.
    expect(troubles[1]).toContain("create v1.ConfigMap default/x")
    expect(running.statistics()[0]).toMatchObject({ timeouts: 1, failures: 1 })
  })
})
