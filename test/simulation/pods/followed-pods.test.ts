/** Pods of replays in a cluster in this process, which calls the webhook over real HTTPS. */
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { systemClock } from "../../../src/clock.ts"
import { ApiClient, kinds, type Pod } from "../../../src/kube/index.ts"
import { LocalCluster } from "../../../src/sandbox/index.ts"
import { followRecordedLives } from "../../../src/simulation/pods/followed-pods.ts"
import { PassingLives } from "../../../src/simulation/pods/life-source.ts"
import { Replay } from "../../../src/simulation/replay/replay.ts"
import { registeredWebhook, webhookConfigurations } from "../../../src/simulation/webhook/pod-webhook.ts"

import type { TraceItem } from "../../../src/trace/index.ts"
import { patient } from "../../harness/patience.ts"
import { plainReplay } from "../replay/plain-replay.ts"
import { type Followed, followedReplay, type LivedPod, type PacedItem, simkubeTrace, until } from "./followed-replay.ts"
import { event, type PodState, pod, start } from "./recorded-pod.ts"

const speed = 40
let cluster: LocalCluster
let clients: readonly [ApiClient, ApiClient]
beforeAll(async () => {
  cluster = await LocalCluster.start({ nodes: 2 })
  const client = () => new ApiClient({ server: cluster.sandbox.endpoint, userAgent: "kubereel-test" })
  clients = [client(), client()]
})
afterAll(async () => {
  for (const client of clients) client.close()
  await cluster.close()
})

const container = { name: "main", image: "main:1" }
const never = { containers: [container], restartPolicy: "Never" }
const job = { spec: { completions: 2, parallelism: 2, template: { spec: never } } }

const state = (seconds: number, name: string, given: PodState): TraceItem => ({
  type: "event",
  isSnapshot: false,
  event: event(seconds, "v1.Pod", name, pod(given)),
})

const header = (seconds: number, kindsOfTrace = ["v1.Pod"]): TraceItem => ({
  type: "header",
  window: { start, end: start + seconds * 1_000_000 },
  cut: 1,
  kinds: kindsOfTrace,
  incomplete: [],
})

/** Each replay has namespaces of its own, so they run side by side. */
const replay = (
  name: string,
  items: ReadonlyArray<PacedItem>,
  more: Parameters<typeof followedReplay>[3] = {},
  during?: Parameters<typeof followedReplay>[4],
): Promise<Followed> => followedReplay(clients, name, items, { speed, namespacePrefix: name, ...more }, during)

const isRegistered = async (name: string): Promise<boolean> => {
  const { items } = await clients[1].list(webhookConfigurations)
  return items.some(({ metadata }) => metadata.name === `kubereel-replay-${name}`)
}

const isIn = (pods: ReadonlyMap<string, LivedPod>, name: string, phase: string): boolean =>
  pods.get(name)?.phases.has(phase) === true

const annotationsOf = ({ pod }: LivedPod): Readonly<Record<string, string>> => pod.metadata.annotations ?? {}
const toldEnd = (lived: LivedPod): number =>
  Date.parse(annotationsOf(lived)["simkube.io/kwok-stage-complete-time"] ?? "")

/** ms by which two clocks of this process may differ. */
const clockMs = 20

/**
 * It was told to end as long after it began to run as was recorded, and did. Whoever looks sees a phase late under load, but never early, and
 * the times in its status are those of the plan: only the last limit depends on the machine.
 */
const expectRun = (lived: LivedPod, recordedMs: number, phase = "Succeeded"): void => {
  const { finishedAt = "" } = lived.pod.status?.containerStatuses?.[0]?.state.terminated ?? {}
  const seen = (...phases: ReadonlyArray<string>): number =>
    phases.map((each) => lived.phases.get(each)).find((ms) => ms !== undefined) ?? Number.NaN
  const told = toldEnd(lived)
  expect(annotationsOf(lived)["kubereel.dev/run-time"]).toBe(`${recordedMs}ms`)
  expect(told - (lived.notBefore.get("Pending") ?? Number.NaN)).toBeGreaterThanOrEqual(recordedMs / speed)
  expect(told - seen("Running", phase)).toBeLessThanOrEqual(recordedMs / speed + clockMs)
  expect(Date.parse(finishedAt)).toBe(Math.floor(told / 1000) * 1000)
  expect(seen(phase)).toBeGreaterThanOrEqual(told - clockMs)
  expect(lived.notBefore.get(phase)).toBeLessThanOrEqual(told + patient(500))
}

describe.concurrent("a pod of a replay", { timeout: patient(30_000) }, () => {
  test("ends 37 s / speed after it runs if it was recorded with 37 s, and without the webhook it does not", async () => {
    const bare = { spec: { containers: [container] } }
    const items = simkubeTrace(70, [["v1.Pod", "bare", bare]], [["v1.Pod", "bare", 37]])
    const hasEnded = Promise.withResolvers<void>()
    let phases: ReadonlyArray<string> = []
    const [followed, plain] = await Promise.all([
      replay("with", items, {}, (pods) =>
        until(() => isIn(pods, "bare", "Succeeded")).finally(() => hasEnded.resolve()),
      ),
      replay("without", items, { isFollowed: false }, async (pods) => {
        await until(() => isIn(pods, "bare", "Running"))
        await hasEnded.promise
        phases = [...(pods.get("bare")?.phases.keys() ?? [])]
      }),
    ])
    expect(followed.problems).toEqual([])
    expectRun(followed.pods.get("bare") as LivedPod, 37_000)
    expect(phases.at(-1)).toBe("Running")
    const lives = { recorded: 1, created: 1, told: 1, unasked: null }
    expect([followed.report.lives, plain.report.lives]).toEqual([lives, undefined])
  })

  test("starts, is ready and ends as it was recorded, with its exit code and restarts", async () => {
    const times = { scheduled: 0, started: 15, ready: 30 }
    const items = [
      header(90),
      state(0.1, "p", {}),
      state(0.2, "p", { scheduled: 0 }),
      state(15.2, "p", { scheduled: 0, started: 15 }),
      state(30.2, "p", times),
      state(80.2, "p", { ...times, ended: 80, exitCode: 3, restarts: 2, phase: "Failed" }),
    ]
    const { pods, problems } = await replay("recorded", items, {}, (seen) => until(() => isIn(seen, "p", "Failed")))
    expect(problems).toEqual([])
    const lived = pods.get("p") as LivedPod
    expect(annotationsOf(lived)).toMatchObject({
      "simkube.io/kwok-stage-create-delay": `${15_000 / speed}ms`,
      "simkube.io/kwok-stage-ready-delay": `${15_000 / speed}ms`,
    })
    const { phases, notBefore, readyAt } = lived
    const msFrom = (from: number | undefined, to: number | undefined): number =>
      (to ?? Number.NaN) - (from ?? Number.NaN)
    expect(msFrom(notBefore.get("Pending"), phases.get("Running"))).toBeGreaterThanOrEqual(15_000 / speed)
    expect(msFrom(phases.get("Pending"), notBefore.get("Running"))).toBeLessThan(15_000 / speed + patient(500))
    expect(msFrom(notBefore.get("Pending"), readyAt)).toBeGreaterThanOrEqual(30_000 / speed)
    expectRun(lived, 65_000, "Failed")
    expect(lived.pod.status?.containerStatuses).toMatchObject([
      { restartCount: 2, state: { terminated: { exitCode: 3 } } },
    ])
  })

  test("of a Job gets one of the lives of the Job's pods, and is marked as one of the replay", async () => {
    const items = simkubeTrace(85, [["batch/v1.Job", "nightly", job]], [["batch/v1.Job", "nightly", 20, 60]])
    const haveEnded = (seen: ReadonlyMap<string, LivedPod>): boolean =>
      seen.size === 2 && [...seen.keys()].every((name) => isIn(seen, name, "Succeeded"))
    const { pods, report } = await replay("owned", items, {}, (seen) => until(() => haveEnded(seen)))
    expect(report.lives).toEqual({ recorded: 2, created: 2, told: 2, unasked: null })
    const lived = [...pods.values()].toSorted((left, right) => toldEnd(left) - toldEnd(right))
    expect(lived.map(({ pod: { metadata } }) => metadata.annotations?.["kubereel.dev/run-time"])).toEqual([
      "20000ms",
      "60000ms",
    ])
    for (const [index, recordedMs] of [20_000, 60_000].entries()) expectRun(lived[index] as LivedPod, recordedMs)
    const numbers = lived.map((each) => {
      const { labels, annotations } = each.pod.metadata
      expect(labels).toMatchObject({ "kubereel.dev/replay": "owned", "simkube.io/simulation": "owned" })
      return annotations?.["static.simkube.io/pod-sequence-number"]
    })
    expect(numbers.toSorted()).toEqual(["0", "1"])
  })

  test("that something else removes is created again, until the trace deletes it (W-48)", async () => {
    const namespace = "evicted-shop"
    const hasClone = Promise.withResolvers<void>()
    const items = [
      ...simkubeTrace(60, [["v1.Pod", "bare", { spec: { containers: [container] } }]], []),
      () => hasClone.promise,
      { type: "event" as const, isSnapshot: false, event: { ...event(60, "v1.Pod", "bare", {}, "deleted"), uid: "" } },
    ]
    const { pods } = await replay("evicted", items, {}, async (seen) => {
      await until(() => isIn(seen, "bare", "Running"))
      await clients[1].delete(kinds.pods, { namespace, name: "bare" })
      await until(() => isIn(seen, "bare-clone-1", "Running")).finally(hasClone.resolve)
      let emptyLooks = 0
      // What is created again is there within a look or two.
      await until(async () => {
        const { items: left } = await clients[1].list(kinds.pods, { namespace })
        emptyLooks = left.length === 0 ? emptyLooks + 1 : 0
        return emptyLooks === 8
      })
    })
    expect([...pods.keys()].toSorted()).toEqual(["bare", "bare-clone-1"])
    expect(pods.get("bare-clone-1")?.pod.metadata).toMatchObject({
      annotations: { "static.simkube.io/original-owner": "bare", "static.simkube.io/pod-sequence-number": "1" },
    })
  })

  test("follows a trace that can be read only once as far as it has been read", async () => {
    const times = { scheduled: 0, started: 1, ready: 2 }
    const items = [header(100), state(1, "p", {}), state(2, "p", times), state(45, "p", { ...times, ended: 44 })]
    const passing = new PassingLives()
    const problems: string[] = []
    const followPods = followRecordedLives({
      client: clients[1],
      source: () => passing,
      webhook: registeredWebhook(clients[1], { host: "127.0.0.1", listen: { address: "127.0.0.1", port: 0 } }),
      random: () => 0,
      onProblem: (problem) => problems.push(problem),
    })
    const podOf = () => clients[1].get<Pod>(kinds.pods, { namespace: "piped-shop", name: "p" }).catch(() => undefined)
    const hasEnded = async (): Promise<boolean> => (await podOf())?.status?.phase === "Succeeded"
    async function* piped(): AsyncGenerator<ReadonlyArray<TraceItem>> {
      for (const item of items) yield [item]
      await until(hasEnded)
    }
    const options = plainReplay(clients[0], "piped", passing.items(piped()), systemClock.wallMicros())
    await new Replay({ ...options, speed, namespacePrefix: "piped", followPods, keep: true, isPipe: true }).run()
    expect((await podOf())?.status).toMatchObject({ phase: "Succeeded" })
    expect(problems).toEqual([expect.stringContaining("can be read only once")])
  })
})

describe.concurrent("the webhook", { timeout: patient(30_000) }, () => {
  test("is registered for the namespaces of the replay only, and gone afterwards, also if the objects are kept", async () => {
    const items = simkubeTrace(40, [["batch/v1.Job", "nightly", job]], [["batch/v1.Job", "nightly", 5]])
    let registered: unknown
    await replay("kept", items, { keep: true }, async (pods) => {
      await until(() => pods.size > 0)
      registered = await clients[1].get(webhookConfigurations, { name: "kubereel-replay-kept" })
    })
    expect(registered).toMatchObject({
      metadata: { labels: { "kubereel.dev/replay": "kept" } },
      webhooks: [
        {
          namespaceSelector: { matchLabels: { "kubereel.dev/replay": "kept" } },
          failurePolicy: "Ignore",
          sideEffects: "None",
          timeoutSeconds: 5,
        },
      ],
    })
    expect(await isRegistered("kept")).toBe(false)
  })

  test("is not set up for a trace without pods", async () => {
    const configMap = { ...event(0, "v1.ConfigMap", "a", { data: {} }) }
    const items: ReadonlyArray<TraceItem> = [
      header(20, ["v1.ConfigMap"]),
      { type: "event", isSnapshot: false, event: configMap },
    ]
    let seen = true
    await replay("none", items, {}, async () => {
      const configMaps = async () => (await clients[1].list(kinds.configMaps, { namespace: "none-shop" })).items
      await until(async () => (await configMaps()).some(({ metadata }) => metadata.name === "a"))
      seen = await isRegistered("none")
    })
    expect(seen).toBe(false)
  })

  test("that the server cannot use leaves pods to the cluster, and says so", async () => {
    const problems: string[] = []
    const items = simkubeTrace(10, [["batch/v1.Job", "nightly", job]], [["batch/v1.Job", "nightly", 5]])
    const taken = { host: "127.0.0.1", listen: { address: "192.0.2.1", port: 0 } }
    for (const address of [undefined, taken]) {
      const followPods = followRecordedLives({
        client: clients[1],
        source: () => new PassingLives(),
        webhook: address && registeredWebhook(clients[1], address),
        random: () => 0,
        onProblem: (problem) => problems.push(problem),
      })
      const options = plainReplay(
        clients[0],
        "alone",
        (async function* () {
          yield items
        })(),
        systemClock.wallMicros(),
      )
      expect(await new Replay({ ...options, namespacePrefix: "alone", followPods }).run()).toMatchObject({
        refused: [],
      })
    }
    expect(problems.filter((problem) => problem.startsWith("pods live as the cluster decides"))).toEqual([
      expect.stringContaining("cannot reach this process"),
      expect.stringContaining("EADDRNOTAVAIL"),
    ])
    expect(await isRegistered("alone")).toBe(false)
  })
})
