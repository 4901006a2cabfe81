/**
 * Ten kinds of sabotage of a replay, in a cluster in this process over real HTTP: each is named in the report, in the printed summary too, and none is
 * scored full. The same replay without sabotage is.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { describeReplay } from "../../../src/cli/replay/replay-summary.ts"
import { ApiClient, type ApiObject, kinds, type Pod } from "../../../src/kube/index.ts"
import { LocalCluster } from "../../../src/sandbox/index.ts"
import { followRecordedLives } from "../../../src/simulation/pods/followed-pods.ts"
import { LifeScout } from "../../../src/simulation/pods/life-source.ts"
import { Replay } from "../../../src/simulation/replay/replay.ts"
import type { FidelityReport } from "../../../src/simulation/report/fidelity-report.ts"
import type { ReplayReport } from "../../../src/simulation/report/replay-report.ts"
import { registeredWebhook, webhookConfigurations } from "../../../src/simulation/webhook/pod-webhook.ts"

import type { TraceItem } from "../../../src/trace/index.ts"
import { patient, slowness } from "../../harness/patience.ts"
import { judgeIn, plainReplay } from "../replay/plain-replay.ts"
import { chunks, configMap, deployment, event, header, podOfWeb, start } from "../trace-items.ts"

let cluster: LocalCluster
let clients: readonly [ApiClient, ApiClient, ApiClient]
/** Whoever meddles with the replay. */
let client: ApiClient
beforeEach(async () => {
  cluster = await LocalCluster.start({ nodes: 2 })
  const open = () => new ApiClient({ server: cluster.sandbox.endpoint, userAgent: "kubereel-test" })
  clients = [open(), open(), open()]
  client = clients[2]
})
afterEach(async () => {
  for (const each of clients) each.close()
  await cluster.close()
})

const bare: object = { spec: { containers: [{ name: "web", image: "web:1" }] } }

const usualSpeed = 10

/** 25 s, which are 2.5 s here on a machine as fast as usual: what is sabotaged exists after one second of the trace, and is changed from the tenth on. */
const story: ReadonlyArray<TraceItem> = [
  header(25_000, { kinds: ["v1.Pod", "v1.ConfigMap", "apps/v1.Deployment"] }),
  configMap(-1000, "kept", "1"),
  deployment(500, 2),
  event(600, "v1.Pod", "web-abc-1", podOfWeb("Pending")),
  event(600, "v1.Pod", "web-abc-2", podOfWeb("Pending")),
  event(700, "v1.Pod", "web-abc-1", podOfWeb("Running")),
  event(700, "v1.Pod", "web-abc-2", podOfWeb("Running")),
  event(900, "v1.Pod", "alone", bare),
  configMap(1000, "a", "1"),
  configMap(12_000, "b", "1"),
  configMap(14_000, "a", "2"),
  event(16_000, "v1.Pod", "alone", undefined),
  configMap(18_000, "a", undefined),
  deployment(20_000, 3),
  event(20_100, "v1.Pod", "web-abc-3", podOfWeb("Pending")),
  event(20_200, "v1.Pod", "web-abc-3", podOfWeb("Running")),
]

interface Judged {
  readonly report: ReplayReport
  readonly fidelity: FidelityReport
  /** The printed summary. */
  readonly text: string
}

interface Sabotage {
  /** While the replay is paused after the first second of the trace, with all that it and the controllers have created by then. */
  readonly meanwhile?: () => Promise<unknown>
  /** From when the replay goes on. */
  readonly afterwards?: () => Promise<unknown>
  readonly followsLives?: boolean
  readonly speed?: number
}

const place = (name: string) => ({ namespace: "virtual-shop", name })

const until = async (condition: () => boolean | Promise<boolean>): Promise<void> => {
  const longestMs = patient(20_000)
  for (const deadline = Date.now() + longestMs; !(await condition()); await sleep(20))
    if (Date.now() > deadline) throw new Error(`waited ${longestMs / 1000} s in vain`)
}

const pods = async (): Promise<ReadonlyArray<Pod>> =>
  (await client.list<Pod>(kinds.pods, { namespace: "virtual-shop" })).items

const sabotaged = async (sabotage: Sabotage = {}): Promise<Judged> => {
  const { meanwhile, afterwards, followsLives = false, speed = usualSpeed } = sabotage
  await using judge = judgeIn(cluster, 1500)
  const followPods = followRecordedLives({
    client: clients[1],
    source: () => new LifeScout(async () => chunks(story)),
    webhook: registeredWebhook(clients[1], { host: "127.0.0.1", listen: { address: "127.0.0.1", port: 0 } }),
    random: () => 0,
    onProblem: () => undefined,
    recreatesBarePods: false,
  })
  const now = start + 100_000_000
  const options = { ...plainReplay(clients[0], "test", chunks(story), now), speed, witness: judge }
  const replay = new Replay({ ...options, ...(followsLives && { followPods }) })
  const running = replay.run()
  const meddling = (async () => {
    await until(async () => (await client.get(kinds.configMaps, place("a")).catch(() => undefined)) !== undefined)
    replay.pause()
    await until(async () => (await pods()).filter(({ status }) => status?.phase === "Running").length === 3)
    await meanwhile?.()
    replay.resume()
    await afterwards?.()
  })()
  const [report] = await Promise.all([running, meddling])
  const fidelity = judge.compare(report.lives !== undefined) as FidelityReport
  return { report, fidelity, text: describeReplay({ ...report, fidelity }).join("\n") }
}

/** What meddles does so once, whatever the load of this machine. */
describe("a replay is scored full", { timeout: patient(40_000) }, () => {
  // Others may keep this machine's processors for longer than the tolerance: then it is late, and says so.
  test("if nothing and no one meddles with it", { retry: 3 }, async () => {
    // What is due at the same moment takes a slow machine longer: there, moments are further apart.
    const { fidelity, text } = await sabotaged({ speed: usualSpeed / slowness() })
    expect(text).not.toMatch(/extra|early|missing/)
    expect(fidelity.score).toEqual({ objectsEqual: 1, statesInOrder: 1, onTime: 1, gapsWithin: 1, pods: 1 })
    expect(fidelity).toMatchObject({ objects: { total: 5, equal: 5, extra: 0 }, states: { total: 9, equal: 9 } })
  })
})

describe("a replay is not scored full, and its report says why,", { timeout: patient(40_000) }, () => {
  test("if a pod is deleted by hand before the trace deletes it", async () => {
    const { fidelity, text } = await sabotaged({
      meanwhile: () => client.delete(kinds.pods, place("alone"), { gracePeriodSeconds: 0 }),
    })
    expect(fidelity.states).toMatchObject({ early: 1, extra: 1 })
    expect(fidelity.onTime).toMatchObject({ early: 1 })
    expect(fidelity.score.objectsEqual).toBeLessThan(1)
    expect(fidelity.score.statesInOrder).toBeLessThan(1)
    expect(text).toMatch(
      /early: v1\.Pod virtual-shop\/alone: the object was gone \d+\.\d+ s before its deletion was due/,
    )
    expect(text).toMatch(
      /extra +v1\.Pod virtual-shop\/alone: something else in the cluster (?:deleted|began to delete) it, \d.* before it was due/,
    )
  })

  test("if a pod of a Deployment is deleted by hand, and its controller replaces it", async () => {
    const { fidelity, text } = await sabotaged({
      meanwhile: async () => {
        const owned = (await pods()).find(({ metadata }) => metadata.name !== "alone") as Pod
        await client.delete(kinds.pods, owned.metadata, { gracePeriodSeconds: 0 })
        const names = async () => (await pods()).map(({ metadata }) => metadata.name)
        await until(async () => (await names()).length === 3 && !(await names()).includes(owned.metadata.name))
      },
    })
    expect(fidelity.pods).toMatchObject({ extra: 1, missing: 0 })
    expect(fidelity.score.pods).toBe(0.8)
    expect(text).toContain("as in the trace 80.0 %: 1 that the trace does not have")
  })

  test("if an object is deleted later than in the trace, because something else holds it", async () => {
    const held = { metadata: { finalizers: ["example.com/held"] } }
    const { fidelity, text } = await sabotaged({
      meanwhile: () => client.patch(kinds.configMaps, place("a"), "merge", held),
      afterwards: async () => {
        const isEnding = async (): Promise<boolean> =>
          (await client.get<ApiObject>(kinds.configMaps, place("a"))).metadata.deletionTimestamp !== undefined
        await until(isEnding)
        await sleep(400)
        await client.patch(kinds.configMaps, place("a"), "merge", { metadata: { finalizers: null } })
      },
    })
    expect(fidelity.onTime?.late).toBeGreaterThanOrEqual(1)
    expect(fidelity.score.onTime).toBeLessThan(1)
    expect(fidelity.worst.find(({ name, verb }) => name === "a" && verb === "delete")?.reason).toMatch(
      /ms passed from the response until it was gone/,
    )
    expect(text).toMatch(/on time .*\d late/)
  })

  test("if an object is missing that the trace has to its end", async () => {
    const { fidelity, text } = await sabotaged({ meanwhile: () => client.delete(kinds.configMaps, place("kept")) })
    expect(fidelity).toMatchObject({ objects: { total: 5, equal: 4 }, states: { extra: 1 } })
    expect(text).toContain("extra      v1.ConfigMap virtual-shop/kept: something else in the cluster deleted it")
  })

  test("if there is an object that the trace does not have", async () => {
    const theirs: ApiObject = { apiVersion: "v1", kind: "ConfigMap", metadata: place("theirs") }
    const { fidelity, text } = await sabotaged({ meanwhile: () => client.create(kinds.configMaps, theirs) })
    expect(fidelity.extraObjects).toEqual([{ gvk: "v1.ConfigMap", namespace: "virtual-shop", name: "theirs" }])
    expect(fidelity).toMatchObject({ objects: { total: 5, equal: 5, extra: 1 }, score: { objectsEqual: 0.8333 } })
    expect(text).toContain("extra      v1.ConfigMap virtual-shop/theirs: the trace does not have it")
  })

  test("if the cluster refuses a write", async () => {
    const { fidelity, report, text } = await sabotaged({
      meanwhile: async () => cluster.sandbox.faults.respond("configmaps", 403, { verb: "patch", times: 1 }),
    })
    expect(report.events.refused).toBe(1)
    expect(fidelity.states).toMatchObject({ total: 9, refused: 1 })
    expect(fidelity.onTime?.total).toBe(8)
    for (const share of ["objectsEqual", "statesInOrder", "onTime", "gapsWithin"] as const)
      expect(fidelity.score[share]).toBeLessThan(1)
    expect(text).toMatch(/worst +refused: v1\.ConfigMap virtual-shop\/b: .*forbidden/)
  })

  test.each([
    ["deleted", (name: string) => client.delete(webhookConfigurations, { name })],
    [
      "dead",
      (name: string) =>
        client.patch(webhookConfigurations, { name }, "json", [
          { op: "replace", path: "/webhooks/0/clientConfig/url", value: "https://127.0.0.1:1/" },
        ]),
    ],
  ] as const)("if its webhook is %s", async (_, kill) => {
    const { fidelity, report, text } = await sabotaged({
      followsLives: true,
      meanwhile: () => kill("kubereel-replay-test"),
    })
    // Two pods of the Deployment and one alone before, one of the Deployment afterwards; that one has no status in the trace.
    expect(report.lives).toMatchObject({ recorded: 4, created: 3, unasked: expect.stringContaining("stopped asking") })
    expect(fidelity.pods?.unasked).toBe(1)
    expect(fidelity.score.pods).toBeLessThan(1)
    expect(text).toMatch(/lives +\d pods? got that of a recorded pod; 4 in the trace/)
    expect(text).toMatch(/lives +the API server stopped asking the webhook:/)
  })

  test("if fields are changed by hand", async () => {
    const { fidelity, text } = await sabotaged({
      meanwhile: () => client.patch(kinds.configMaps, place("kept"), "merge", { data: { value: "theirs" } }),
    })
    expect(fidelity).toMatchObject({ objects: { equal: 4 }, states: { extra: 1 } })
    expect(text).toContain(
      'extra      v1.ConfigMap virtual-shop/kept: something else in the cluster changed it: data.value is "theirs" instead of "1"',
    )
  })

  test("if a Deployment is scaled by hand", async () => {
    const { fidelity, text } = await sabotaged({
      meanwhile: async () => {
        const scale = { spec: { replicas: 4 } }
        await client.patch(kinds.deployments, place("web"), "merge", scale, { subresource: "scale" })
        await until(async () => (await pods()).length === 5)
      },
    })
    expect(fidelity.states.extra).toBe(1)
    expect(fidelity.pods?.extra).toBe(1)
    expect(fidelity.score.objectsEqual).toBeLessThan(1)
    expect(fidelity.score.pods).toBeLessThan(1)
    expect(text).toContain("spec.replicas is 4 instead of 2")
  })

  test("if the server is slow", async () => {
    const { faults } = cluster.sandbox
    const { fidelity, text } = await sabotaged({
      afterwards: async () => {
        faults.blackHole("configmaps")
        await sleep(2000)
        faults.resume()
      },
    })
    expect(fidelity.onTime?.late).toBeGreaterThanOrEqual(1)
    expect(fidelity.score.onTime).toBeLessThan(1)
    expect(text).toMatch(/on time .*\d late/)
    expect(text).toMatch(/answered .* at most [\d.]+ ms after due/)
  })

  test("if the watch of its recording is lost", async () => {
    const { fidelity, text } = await sabotaged({ meanwhile: async () => cluster.sandbox.faults.stall("configmaps") })
    expect(fidelity.recording.unmeasured).toMatchObject([
      { gvk: "v1.ConfigMap", reason: expect.stringContaining("its watch was lost") },
    ])
    expect(fidelity.states).toMatchObject({ missing: 0, unmeasured: 3 })
    expect(fidelity.score.objectsEqual).toBeLessThan(1)
    expect(fidelity.score.statesInOrder).toBeLessThan(1)
    expect(text).toMatch(/unmeasured v1\.ConfigMap: its watch was lost/)
  })
})
