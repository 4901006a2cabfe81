/** Whole replays into a cluster in this process, over real HTTP. */
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { systemClock } from "../../../src/clock.ts"
import { ApiClient, backOff, kinds } from "../../../src/kube/index.ts"
import { LocalCluster } from "../../../src/sandbox/index.ts"
import { Replay, type ReplayOptions } from "../../../src/simulation/replay/replay.ts"
import { RecordedCluster, ReplayExists } from "../../../src/simulation/replay/replay-root.ts"
import { cleanUp } from "../../../src/simulation/target/clean-up.ts"
import type { TraceItem } from "../../../src/trace/index.ts"
import { patient } from "../../harness/patience.ts"
import { at, chunks, configMap, deployment, event, header, start } from "../trace-items.ts"
import { plainReplay } from "./plain-replay.ts"

let cluster: LocalCluster
let client: ApiClient
beforeEach(async () => {
  cluster = await LocalCluster.start({ nodes: 2 })
  const retries = backOff({ random: () => 0, attempts: 20, baseMs: 5, maximumMs: 50 })
  client = new ApiClient({ server: cluster.sandbox.endpoint, userAgent: "kubereel-test", retries })
})
afterEach(async () => {
  client.close()
  await cluster.close()
})

const head = header(200, { kinds: ["v1.ConfigMap", "apps/v1.Deployment"] })

const replayOf = (items: ReadonlyArray<TraceItem>, more: Partial<ReplayOptions> = {}): Replay =>
  new Replay({ ...plainReplay(client, "test", chunks(items), at(1000)), ...more })

const values = async (): Promise<Record<string, unknown>> => {
  const { items } = await client.list(kinds.configMaps, { namespace: "virtual-shop" })
  const own = items.filter(({ metadata }) => metadata.name !== "kube-root-ca.crt")
  return Object.fromEntries(own.map(({ metadata, data }) => [metadata.name, (data as { value: string }).value]))
}

const labelled = async (): Promise<ReadonlyArray<string>> => {
  const { items } = await client.list(kinds.namespaces, { labelSelector: "kubereel.dev/replay" })
  return items.map(({ metadata }) => metadata.name).toSorted()
}

const story = [
  head,
  configMap(-5, "a", "1"),
  configMap(-5, "b", "1"),
  deployment(-5, 1),
  configMap(20, "a", "2"),
  configMap(40, "b", undefined),
  deployment(50, 3),
  configMap(60, "c", "1"),
  configMap(80, "c", "2"),
]

describe("a replay", { timeout: patient(30_000) }, () => {
  test("creates the state at the start, makes each change, and leaves the state at the end if that is wanted", async () => {
    const report = await replayOf(story, { keep: true }).run()
    expect(report).toMatchObject({
      replay: "test",
      stopped: null,
      seed: { total: 3, accepted: 3 },
      events: { total: 5, sent: 5, accepted: 5, refused: 0, skipped: 0 },
      trace: { start, end: at(200) },
      refused: [],
      gaps: 0,
    })
    expect(await values()).toEqual({ a: "2", c: "2" })
    const web = await client.get(kinds.deployments, { namespace: "virtual-shop", name: "web" })
    expect(web).toMatchObject({ spec: { replicas: 3, template: { spec: { nodeSelector: { type: "virtual" } } } } })
    const { removed } = await cleanUp({
      client,
      clock: systemClock,
      replay: "test",
      signal: new AbortController().signal,
    })
    expect([removed, await labelled()]).toEqual([2, []])
  })

  test("reports what the trace says that it lacks", async () => {
    const incomplete = [{ gvk: "v1.Secret", namespace: "shop", state: "forbidden" }]
    expect((await replayOf([{ ...head, incomplete }, ...story.slice(1)]).run()).incomplete).toEqual(incomplete)
  })

  test("removes everything it created, and nothing else", async () => {
    await client.create(kinds.namespaces, {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "virtual-other", labels: { "kubereel.dev/replay": "another" } },
    })
    await replayOf(story).run()
    expect(await labelled()).toEqual(["virtual-other"])
  })

  test("sends no event before it is due, takes as long as the trace at its speed, and reports how late it was", async () => {
    const { run, dispatchErrorMs, lagMs, latest } = await replayOf(story, { speed: 2 }).run()
    expect(run.expectedMs).toBe(100)
    expect(run.durationMs).toBeGreaterThanOrEqual(100)
    expect(latest).toHaveLength(5)
    for (const each of latest) expect(each.dispatchErrorMs).toBeGreaterThanOrEqual(0)
    expect(lagMs.max).toBeGreaterThanOrEqual(dispatchErrorMs.max)
    expect(lagMs.p99).toBeGreaterThanOrEqual(lagMs.p50)
  })

  test("that starts in the middle begins with the state there", async () => {
    const window = { from: at(45), to: at(70), duration: undefined, now: at(1000) }
    const report = await replayOf(story, { window, keep: true }).run()
    expect(report).toMatchObject({ seed: { total: 2 }, events: { total: 2 }, trace: { start: at(45), end: at(70) } })
    expect(await values()).toEqual({ a: "2", c: "1" })
  })

  test("reports a refused object with its reason, and goes on", async () => {
    const invalid = event(30, "apps/v1.Deployment", "broken", { spec: { replicas: -1 } })
    const unknown = event(35, "example.com/v1.App", "x", {})
    const report = await replayOf([...story, invalid, unknown].toSorted(byTime), { keep: true }).run()
    expect(report).toMatchObject({ stopped: null, events: { total: 7, accepted: 5, refused: 2 } })
    expect(report.refused).toMatchObject([
      { gvk: "apps/v1.Deployment", reason: "422 Invalid", count: 1 },
      { gvk: "example.com/v1.App", reason: "404 UnknownKind", example: "the target has no kind example.com/v1.App" },
    ])
    expect(await values()).toEqual({ a: "2", c: "2" })
  })

  test("that is strict stops at the first refusal, and cleans up", async () => {
    const invalid = event(30, "apps/v1.Deployment", "broken", { spec: { replicas: -1 } })
    const report = await replayOf([...story, invalid].toSorted(byTime), { isStrict: true, speed: 1 }).run()
    expect(report.stopped).toMatch(/^apps\/v1\.Deployment was refused: /)
    expect(report.events.accepted).toBeLessThan(5)
    expect(await labelled()).toEqual([])
  })

  test("that starts paused creates the state at the start, and makes one moment's changes with each step", async () => {
    const seen: Array<Record<string, unknown>> = []
    const twice = [...story.slice(0, 5), configMap(20, "c", "0"), ...story.slice(5)]
    let steps = 0
    const replay: Replay = replayOf(twice, {
      keep: true,
      startsPaused: true,
      speed: 1,
      onProgress: ({ phase, pending, accepted, isPaused }) => {
        if (phase !== "replaying" || !isPaused || pending > 1 || accepted !== [0, 2, 3][steps]) return
        steps++
        void values().then((now) => {
          seen.push(now)
          if (seen.length < 3) replay.step()
          else replay.resume()
        })
      },
    })
    const { events, run } = await replay.run()
    expect(seen).toEqual([
      { a: "1", b: "1" },
      { a: "2", b: "1", c: "0" },
      { a: "2", c: "0" },
    ])
    expect([events.accepted, run.expectedMs, run.pausedMs > 0]).toEqual([6, null, true])
    expect(await values()).toEqual({ a: "2", c: "2" })
  })

  test("that is paused makes no change, and continues at another speed, with what was late still late", async () => {
    let wasPaused = false
    const replay: Replay = replayOf(story, {
      speed: 1,
      onProgress: ({ phase, isPaused }) => {
        if (phase !== "replaying" || isPaused || wasPaused) return
        wasPaused = true
        replay.pause()
        replay.step()
        replay.setSpeed(4)
        setTimeout(() => replay.resume(), 60)
      },
    })
    const { events, run, speed } = await replay.run()
    expect([events.accepted, speed, run.expectedMs, wasPaused]).toEqual([5, 4, null, true])
    expect(run.pausedMs).toBeGreaterThanOrEqual(59)
    expect(run.durationMs).toBeGreaterThanOrEqual(run.pausedMs)
  })

  test("of a pipe ends with its window although the pipe stays silent", async () => {
    const items = (async function* () {
      yield* chunks(story.slice(0, 5))
      await new Promise(() => undefined)
    })()
    const window = { from: undefined, to: at(100), duration: undefined, now: at(1000) }
    const report = await replayOf([], { items, isPipe: true, window, speed: 10 }).run()
    expect(report).toMatchObject({ stopped: null, events: { accepted: 1 }, trace: { start, end: at(100) } })
    expect(await labelled()).toEqual([])
  })

  test("into the cluster that was recorded is refused before anything is created, unless that is wanted", async () => {
    const items = [{ ...head, clusterUid: cluster.sandbox.clusterUid }, ...story.slice(1)]
    await expect(replayOf(items).run()).rejects.toBeInstanceOf(RecordedCluster)
    expect(cluster.sandbox.get("v1.Namespace", "", "kubereel-replay-test")).toBeUndefined()
    expect((await replayOf(items, { intoRecordedCluster: true }).run()).events.accepted).toBe(5)
    expect((await replayOf([{ ...head, clusterUid: "another" }, ...story.slice(1)]).run()).stopped).toBe(null)
  })

  test("that is interrupted cleans up and says so", async () => {
    const abort = new AbortController()
    const replay = replayOf(story, {
      speed: 0.01,
      signal: abort.signal,
      onProgress: ({ phase }) => phase === "replaying" && abort.abort(),
    })
    expect((await replay.run()).stopped).toBe("interrupted")
    expect(await labelled()).toEqual([])
  })

  test("whose trace breaks off rejects with its error, and cleans up", async () => {
    const items = (async function* () {
      yield* chunks(story)
      throw new Error("the disk is gone")
    })()
    await expect(replayOf([], { items }).run()).rejects.toThrow("the disk is gone")
    expect(await labelled()).toEqual([])
  })

  test("whose trace breaks off while it waits rejects with its error, and cleans up", async () => {
    const items = (async function* () {
      yield* chunks(story.slice(0, 5))
      await new Promise((resolve) => setTimeout(resolve, 30))
      throw new Error("the pipe is gone")
    })()
    await expect(replayOf([], { items, speed: 1 }).run()).rejects.toThrow("the pipe is gone")
    expect(await labelled()).toEqual([])
  })

  test("that is strict does not wait for a pipe that is silent", async () => {
    const items = (async function* () {
      yield* chunks([head, event(1, "apps/v1.Deployment", "broken", { spec: { replicas: -1 } })])
      await new Promise(() => undefined)
    })()
    expect((await replayOf([], { items, isStrict: true }).run()).stopped).toMatch(/was refused/)
    expect(await labelled()).toEqual([])
  })

  test("removes all that it can find although some kinds cannot be listed, and names those", async () => {
    cluster.sandbox.faults.respond("storageclasses", 403)
    const left: unknown[] = []
    const report = await replayOf(story, { onRemovalFailed: (error) => left.push(error) }).run()
    expect([report.stopped, await labelled()]).toEqual([null, []])
    expect(left).toMatchObject([{ _tag: "RemovalUnchecked", unchecked: [expect.stringContaining("StorageClass")] }])
  })

  test("reports what is late as late, also if the rest of the schedule is delayed for it", async () => {
    const items = (async function* () {
      yield* chunks([head, configMap(10, "a", "1")])
      await new Promise((resolve) => setTimeout(resolve, 150))
      yield* chunks([configMap(20, "a", "2"), configMap(30, "a", "3")])
    })()
    const { latest, run } = await replayOf([], { items, speed: 1, maximumLagMs: 50 }).run()
    expect(run.delayedMs).toBeGreaterThan(50)
    expect(latest[0]?.dispatchErrorMs).toBeGreaterThan(50)
  })

  test("does not apply the limit of lateness at speed max", async () => {
    const report = await replayOf(story, { maximumLagMs: 0.001, onLag: "fail" }).run()
    expect(report).toMatchObject({ stopped: null, events: { accepted: 5 } })
  })

  test("gives objects of the start their owners, also if the owners' kind comes later", async () => {
    const reference = { apiVersion: "apps/v1", kind: "Deployment", name: "web", uid: "production" }
    const owned = { metadata: { namespace: "shop", name: "owned", ownerReferences: [reference] }, data: { value: "1" } }
    const items = [head, event(0, "v1.ConfigMap", "owned", owned), ...story.slice(1)]
    await replayOf(items, { keep: true }).run()
    const { metadata } = await client.get(kinds.configMaps, { namespace: "virtual-shop", name: "owned" })
    const web = await client.get(kinds.deployments, { namespace: "virtual-shop", name: "web" })
    expect(metadata.ownerReferences?.map(({ kind, uid }) => [kind, uid])).toContainEqual([
      "Deployment",
      web.metadata.uid,
    ])
  })

  test("under a name that is in use creates nothing and removes nothing", async () => {
    await replayOf(story, { keep: true }).run()
    await expect(replayOf(story).run()).rejects.toBeInstanceOf(ReplayExists)
    expect(await labelled()).toEqual(["kubereel-replay-test", "virtual-shop"])
  })

  test.each([
    ["that the trace does not describe", []],
    ["that the trace describes", [event(-5, "v1.Namespace", "shop", {}, { namespace: "" })]],
  ])("writes nothing into a namespace of someone else %s", async (_, more) => {
    await client.create(kinds.namespaces, {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "virtual-shop" },
    })
    const report = await replayOf([...more, ...story]).run()
    expect(report).toMatchObject({ seed: { accepted: 0, refused: 3 + more.length }, events: { accepted: 0, sent: 0 } })
    expect(new Set(report.refused.map(({ reason }) => reason))).toEqual(new Set(["NotOurs"]))
    expect(await values()).toEqual({})
    expect((await client.get(kinds.namespaces, { name: "virtual-shop" })).metadata.deletionTimestamp).toBeUndefined()
  })

  test("ends in the trace's state although the server refuses writes and drops connections", async () => {
    cluster.sandbox.faults.respond("configmaps", 503, { verb: "patch", times: 3 })
    cluster.sandbox.faults.respond("configmaps", 429, { verb: "patch", times: 2 })
    const report = await replayOf(story, { keep: true }).run()
    expect(report.events).toMatchObject({ accepted: 5, refused: 0 })
    expect(await values()).toEqual({ a: "2", c: "2" })
  })

  test("creates a namespace again after the trace has deleted it, with what is in it then", async () => {
    const namespace = (ms: number, object: object | undefined): TraceItem =>
      event(ms, "v1.Namespace", "shop", object, { namespace: "" })
    const items = [head, namespace(-5, {}), configMap(-5, "a", "1"), namespace(20, undefined)]
    const report = await replayOf([...items, configMap(30, "b", "2")], { keep: true }).run()
    expect(report).toMatchObject({ seed: { refused: 0 }, events: { accepted: 2, refused: 0 } })
    expect(await values()).toEqual({ b: "2" })
  })
})

const byTime = (left: TraceItem, right: TraceItem): number => timeOf(left) - timeOf(right)
const timeOf = (item: TraceItem): number => (item.type === "event" ? item.event.time : 0)
