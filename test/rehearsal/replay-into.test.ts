/** Recorded history, replayed into controllers: what they did, in which order, and the same each time. */
import { describe, expect, test } from "vitest"
import { simplePods } from "../../examples/host/typescript/simplepod-controller.ts"
import {
  type ApiObject,
  type DefinedController,
  defineController,
  type Pod,
  TerminalError,
} from "../../src/host/controllers.ts"
import { replayInto } from "../../src/library/rehearsal.ts"
import { type Body, podOf, simplePod, simplePodDefinition, traceOf } from "./history.ts"

const definition = { at: 0, isSnapshot: true, object: simplePodDefinition }

const configMap = (name: string, value: string, metadata: object = {}): Body => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "shop", ...metadata },
  data: { value },
})

describe("A controller that meets recorded history", () => {
  const day = traceOf([
    definition,
    { at: 1, object: simplePod("web", "nginx:1") },
    { at: 1.2, object: podOf("web", "nginx:1") },
    { at: 2, object: podOf("web", "nginx:1", {}, { phase: "Running" }) },
    { at: 3, object: simplePod("web", "nginx:2", { generation: 2 }) },
    { at: 9, deleted: true, object: simplePod("web", "nginx:2") },
  ])

  test("acts at the recorded moments, on what others did, and what it did itself is not fed", async () => {
    const result = await replayInto(simplePods, day)
    const story = result.steps.flatMap(({ time, cause, entries }) => [
      `${time.slice(17, 23)} ${cause.type}${cause.type === "change" ? ` ${cause.kind} ${cause.fedAs}` : ""}`,
      ...entries.flatMap((entry) =>
        entry.type === "write" && entry.verb !== "patch" ? [`${entry.verb} ${entry.kind} ${entry.name}`] : [],
      ),
    ])
    expect(story).toEqual([
      "00.000 start",
      "01.000 change slinky.dev/v1.SimplePod created",
      "01.200 change v1.Pod unchanged",
      "02.000 change v1.Pod updated",
      "03.000 change slinky.dev/v1.SimplePod updated",
      "delete v1.Pod web",
      "09.000 change slinky.dev/v1.SimplePod deleted",
      // Its owner is gone.
      "09.000 timer",
    ])
    expect(result.events.map(({ about, reason }) => `${about.kind} ${about.name} ${reason}`)).toEqual([
      "slinky.dev/v1.SimplePod web PodReplaced",
    ])
    expect(result.trouble).toEqual([])
    expect(result.objects("v1.Pod")).toEqual([])
    expect([result.start.toISOString(), result.end.toISOString()]).toEqual([
      "2026-01-01T00:00:00.000Z",
      "2026-01-01T00:00:10.000Z",
    ])
  })

  test("does the same each time, to the byte, with random delays and slow requests as well", async () => {
    let failures = 0
    const moody = (): DefinedController =>
      defineController({
        name: "moody",
        for: "slinky.dev/v1.SimplePod",
        reconcile: async ({ object, cluster }) => {
          failures++
          if (failures % 3 !== 0) throw new Error(`failure ${failures}`)
          if (object === undefined) return
          await cluster.create({
            apiVersion: "v1",
            kind: "ConfigMap",
            metadata: { generateName: "made-", namespace: "shop" },
          })
          return { requeueAfterMs: 700 }
        },
      })
    const options = { latencyMs: 13, settleMs: 5000 }
    const [first, second] = [
      await replayInto([simplePods, moody()], day, options),
      await (async () => {
        failures = 0
        return replayInto([simplePods, moody()], day, options)
      })(),
    ]
    expect(first.reconciles.filter(({ outcome }) => outcome === "failed").length).toBeGreaterThan(3)
    expect(first.writesOf({ controller: "moody", verb: "create" }).length).toBeGreaterThan(3)
    expect(second.toString()).toBe(first.toString())
    failures = 0
    const other = await replayInto([simplePods, moody()], day, { ...options, randomSeed: 2 })
    expect(other.toString()).not.toBe(first.toString())
  })

  test("finds what existed at the start of the window, and nothing after its end", async () => {
    const result = await replayInto(simplePods, day, { from: "2026-01-01T00:00:01.500Z", to: "2026-01-01T00:00:04Z" })
    const [start] = result.steps
    expect(start?.cause).toEqual({ type: "start", objects: 3 })
    // Its own pod is there already.
    expect(start?.entries.filter((entry) => entry.type === "write" && entry.verb === "create")).toEqual([])
    const pod = result.object<Pod>("v1.Pod", "shop/web")
    expect(pod?.spec.containers[0]?.image).toBe("nginx:2")
    expect(result.object("slinky.dev/v1.SimplePod", "shop/web")).toMatchObject({ spec: { image: "nginx:2" } })
  })

  test("is woken by its own delays in between, and after the end for as long as is asked for", async () => {
    const periodic = defineController({
      name: "periodic",
      for: "v1.ConfigMap",
      reconcile: ({ object }) => (object === undefined ? undefined : { requeueAfterMs: 1000 }),
    })
    const trace = traceOf([{ at: 1, object: configMap("a", "1") }], 3.5)
    const result = await replayInto(periodic, trace, { settleMs: 2000 })
    const times = result.steps.flatMap(({ time, entries }) =>
      entries.some(({ type }) => type === "reconcile") ? [time.slice(17, 23)] : [],
    )
    expect(times).toEqual(["01.000", "02.000", "03.000", "04.000", "05.000"])
    expect(result.reconciles[0]).toMatchObject({ outcome: "succeeded", requeueAfterMs: 1000, durationMs: 0 })
  })

  test("ends when a step is reached, and reports each step as it happens", async () => {
    const seen: string[] = []
    const result = await replayInto(simplePods, day, {
      onStep: ({ cause }) => void seen.push(cause.type),
      until: ({ cause }) => cause.type === "change" && cause.kind === "v1.Pod",
    })
    expect(seen).toEqual(["start", "change", "change"])
    expect(result.steps).toHaveLength(3)
  })

  test("reports failed runs, refused writes, and those that it gave up", async () => {
    const clumsy = defineController({
      name: "clumsy",
      for: "v1.ConfigMap",
      reconcile: async ({ object, cluster }) => {
        if (object?.metadata.name === "hopeless") throw new TerminalError({ detail: "no way" })
        await cluster.create({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "No Name", namespace: "shop" } })
      },
    })
    const trace = traceOf([
      { at: 1, object: configMap("a", "1") },
      { at: 2, object: configMap("hopeless", "1") },
    ])
    const result = await replayInto(clumsy, trace, {
      until: ({ cause }) => cause.type === "change" && cause.name === "hopeless",
    })
    expect(result.writes[0]).toMatchObject({ verb: "create", status: 422, differences: [] })
    expect(result.writes[0]?.message).toMatch(/No Name/)
    expect(new Set(result.reconciles.map(({ outcome }) => outcome))).toEqual(new Set(["failed", "given-up"]))
    expect(result.trouble.join()).toMatch(/clumsy shop\/a: .*clumsy shop\/hopeless: .*no way/)
  })
})

describe("A bug that only history shows", () => {
  /** It remembers by name what it has made. */
  const forgetful = (): DefinedController => {
    const made = new Set<string>()
    return defineController({
      name: "simplepod",
      for: "slinky.dev/v1.SimplePod",
      owns: ["v1.Pod"],
      reconcile: async ({ key, object, cluster }) => {
        if (object === undefined || made.has(key)) return
        const { name, namespace, uid } = object.metadata
        const owner = { apiVersion: "slinky.dev/v1", kind: "SimplePod", name, uid: uid ?? "", controller: true }
        await cluster.create({
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name, namespace, ownerReferences: [owner] },
          spec: { containers: [{ name: "main", image: "nginx" }] },
        })
        made.add(key)
      },
    })
  }
  const recreated = traceOf([
    definition,
    { at: 1, object: simplePod("web", "nginx") },
    { at: 5, deleted: true, object: simplePod("web", "nginx") },
    { at: 5.02, object: simplePod("web", "nginx", { uid: "second" }) },
  ])

  test("is found: an object that was deleted and created again within 20 ms has no pod", async () => {
    const wrong = await replayInto(forgetful(), recreated, { settleMs: 60_000 })
    expect(wrong.object("v1.Pod", "shop/web")).toBeUndefined()
    const right = await replayInto(simplePods, recreated, { settleMs: 60_000 })
    expect(right.object<Pod>("v1.Pod", "shop/web")?.metadata.ownerReferences?.[0]?.uid).toBe("second")
  })

  test("is found: a change came between a read and a write, if requests take time as they did", async () => {
    const careless = defineController({
      name: "careless",
      for: "v1.ConfigMap",
      reconcile: async ({ object, cluster }) => {
        if (object === undefined) return
        const live = await cluster.getLive<ApiObject & { data: { value: string } }>("v1.ConfigMap", object.metadata)
        if (live.metadata.labels?.value === live.data.value) return
        const labels = { value: live.data.value }
        await cluster.update({ ...live, metadata: { ...live.metadata, labels } })
      },
    })
    const trace = traceOf([
      { at: 1, object: configMap("a", "1") },
      { at: 1.03, object: configMap("a", "2") },
    ])
    const outcomes = async (latencyMs: number) => {
      const result = await replayInto(careless, trace, { latencyMs, settleMs: 5000 })
      expect(result.object("v1.ConfigMap", "shop/a")?.metadata.labels).toEqual({ value: "2" })
      return new Set(result.reconciles.map(({ outcome }) => outcome))
    }
    expect(await outcomes(0)).toEqual(new Set(["succeeded"]))
    expect(await outcomes(20)).toEqual(new Set(["conflict", "succeeded"]))
  })
})
