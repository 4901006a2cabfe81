/**
 * A round trip on a real cluster: a scripted workload is recorded, replayed under a prefix, and the replay is recorded too. Both
 * recordings must tell the same story: the same objects, the same states of each in the same order, at the same moments.
 *
 * What is compared is what a person would call the object's state, read from the JSON that the server sent, without the code under test.
 */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type OpenTarget, openTarget } from "../../../src/cli/replay/replay-target.ts"
import { systemClock } from "../../../src/clock.ts"
import { type ApiClient, type ApiObject, kinds } from "../../../src/kube/index.ts"
import { cleanUp } from "../../../src/simulation/index.ts"
import { type ObjectEvent, openDecoder, type TraceItem } from "../../../src/trace/index.ts"
import { patient } from "../../harness/patience.ts"
import { type Recorder, startRecorder } from "../command.ts"
import { openTestCluster, type TestCluster } from "../guard.ts"
import { replay } from "./recorded-trace.ts"

const { configMaps, deployments, jobs, statefulSets, namespaces } = kinds
const namespace = `round-${process.pid}`
const tracked = ["v1.ConfigMap", "apps/v1.Deployment", "apps/v1.StatefulSet", "batch/v1.Job"]
/** ms by which a gap of the replay may differ on an idle machine: server and recorders share it. Or 5 %, if that is more. */
const toleranceMs = 250

let cluster: TestCluster
let directory: string
let recorder: Recorder
let target: OpenTarget
let client: ApiClient
let recorded: Recording
const replays: string[] = []

const at = (name: string) => ({ namespace, name })
const configMap = (name: string, a: string): ApiObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: at(name),
  data: { a },
})
const workload = (kind: string, name: string, replicas: number, members: object = {}): ApiObject => ({
  apiVersion: "apps/v1",
  kind,
  metadata: at(name),
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "main", image: "web:1" }] } },
    ...members,
  },
})
const job: ApiObject = {
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: at("once"),
  spec: { template: { spec: { containers: [{ name: "main", image: "web:1" }], restartPolicy: "Never" } } },
}
const newImage = { spec: { template: { spec: { containers: [{ name: "main", image: "web:2" }] } } } }

/** Each step and the ms to wait before it; some twelve seconds. */
const script: ReadonlyArray<readonly [waitMs: number, step: () => Promise<unknown>]> = [
  [300, () => client.create(configMaps, configMap("settings", "1"))],
  [700, () => client.create(deployments, workload("Deployment", "web", 2))],
  [1700, () => client.patch(deployments, at("web"), "merge", { spec: { replicas: 4 } })],
  [20, () => client.patch(configMaps, at("settings"), "merge", { data: { a: "2" } })],
  [2300, () => client.patch(deployments, at("web"), "merge", newImage)],
  [450, () => client.patch(deployments, at("web"), "merge", { metadata: { labels: { tier: "edge" } } })],
  [350, () => client.patch(deployments, at("first"), "merge", { spec: { replicas: 3 } })],
  // Deleted and created again within the same second.
  [1100, () => client.create(configMaps, configMap("twice", "1"))],
  [0, () => client.delete(configMaps, at("twice"))],
  [0, () => client.create(configMaps, configMap("twice", "2"))],
  [900, () => client.create(statefulSets, workload("StatefulSet", "data", 1, { serviceName: "data" }))],
  [600, () => client.create(jobs, job)],
  [1500, () => client.delete(statefulSets, at("data"))],
  [800, () => client.patch(configMaps, at("settings"), "merge", { data: { a: "3" } })],
  [400, () => client.delete(deployments, at("web"), { propagationPolicy: "Background" })],
  [300, () => client.delete(configMaps, at("settings"))],
]

/** A part of the recorder's history, of one namespace. */
interface Recording {
  /** µs since the Unix epoch. */
  readonly from: number
  readonly items: ReadonlyArray<TraceItem>
}

const record = async (from: number, to: number, of: string): Promise<Recording> => {
  const response = await fetch(`${recorder.address}/export`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({
      start_ts: 0,
      end_ts: 0,
      start_time: from,
      end_time: to,
      export_path: "file:///export",
      filters: { excluded_namespaces: [], excluded_labels: [] },
      format: "ndjson",
      require: "all",
    }),
  })
  const bytes = Buffer.from(await response.arrayBuffer())
  if (response.status !== 200) throw new Error(`the export failed: ${bytes.toString()}\n${recorder.log()}`)
  const decoder = await openDecoder("ndjson")
  const items = [...owned(decoder.push(bytes)), ...owned(decoder.end())]
  return {
    from,
    items: items.filter(
      (item) => item.type !== "event" || (item.event.type === "object" && item.event.namespace === of),
    ),
  }
}

/** Bytes of an item are valid until the next. */
function* owned(items: Iterable<TraceItem>): Generator<TraceItem> {
  for (const item of items)
    yield item.type === "event" && item.event.type === "object"
      ? { ...item, event: { ...item.event, object: Uint8Array.from(item.event.object) } }
      : item
}

/** A change of what a person would call the state of an object. */
interface Step {
  readonly object: string
  readonly state: string
  /** µs since the Unix epoch. */
  readonly time: number
}

interface Described {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> }
  readonly data?: object
  readonly spec?: { readonly replicas?: number; readonly template?: { readonly spec?: { containers?: Image[] } } }
}
interface Image {
  readonly image: string
}

const stateOf = ({ action, object }: ObjectEvent): string => {
  if (action !== "applied") return "deleted"
  const { metadata, data, spec } = JSON.parse(Buffer.from(object).toString()) as Described
  const { tier = "none" } = metadata.labels ?? {}
  const images = spec?.template?.spec?.containers?.map(({ image }) => image)
  return JSON.stringify({ tier, data, replicas: spec?.replicas, images })
}

/** What happened to the test's objects, in order; controllers' changes of an object leave its state as it was. */
const stepsOf = ({ items }: Recording): ReadonlyArray<Step> => {
  const states = new Map<string, string>()
  const steps: Step[] = []
  for (const item of items) {
    if (item.type !== "event" || item.event.type !== "object") continue
    const { gvk, name, time } = item.event
    if (name === "kube-root-ca.crt") continue
    const [object, state] = [`${gvk} ${name}`, stateOf(item.event)]
    if (states.get(object) === state) continue
    states.set(object, state)
    steps.push({ object, state, time })
  }
  return steps
}

const histories = (steps: ReadonlyArray<Step>): ReadonlyMap<string, ReadonlyArray<string>> =>
  new Map(
    [...Map.groupBy(steps, ({ object }) => object)]
      .map(([object, all]) => [object, all.map(({ state }) => state)] as const)
      .toSorted(([left], [right]) => (left < right ? -1 : 1)),
  )

const remove = async (name: string): Promise<void> => {
  await cleanUp({ client, clock: systemClock, replay: name, signal: new AbortController().signal })
}

beforeAll(async () => {
  cluster = await openTestCluster()
  directory = await mkdtemp(join(tmpdir(), "kubereel-round-trip-"))
  await writeFile(join(directory, "config.yml"), `trackedObjects:\n${tracked.map((gvk) => `  ${gvk}: {}\n`).join("")}`)
  await mkdir(join(directory, "data"))
  recorder = await startRecorder(cluster, join(directory, "config.yml"), join(directory, "data"))
  target = await openTarget({ kubeconfig: cluster.kubeconfig, context: undefined, concurrency: 16 })
  client = target.client
  await client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } })
  // These exist when the recording that is replayed begins.
  await client.create(configMaps, configMap("before", "1"))
  await client.create(deployments, workload("Deployment", "first", 1))
  await sleep(1000)
  const from = systemClock.wallMicros()
  for (const [waitMs, step] of script) {
    if (waitMs > 0) await sleep(waitMs)
    await step()
  }
  await sleep(500)
  recorded = await record(from, systemClock.wallMicros(), namespace)
})

afterAll(async () => {
  await Promise.all(replays.map(remove))
  await client?.delete(namespaces, { name: namespace })
  await target?.[Symbol.asyncDispose]()
  await recorder?.stop()
  await rm(directory, { recursive: true, force: true })
})

test("the recording has the whole script", () => {
  const steps = stepsOf(recorded).filter(({ time }) => time >= recorded.from)
  expect(steps).toHaveLength(script.length)
})

describe.each([1, 10])("a replay at speed %i", (speed) => {
  let steps: ReadonlyArray<Step>

  beforeAll(async () => {
    // One after the other: both write into the same namespace.
    for (const earlier of replays.splice(0)) await remove(earlier)
    const name = `round-${speed}-${process.pid}`
    replays.push(name)
    const from = systemClock.wallMicros()
    const report = await replay(client, name, chunks(recorded.items), { speed, concurrency: 16 })
    expect(report).toMatchObject({ refused: [], gaps: 0, stopped: null })
    await sleep(500)
    steps = stepsOf(await record(from, systemClock.wallMicros(), `virtual-${namespace}`))
  })

  test("makes the same objects, and the same states of each in the same order", () => {
    expect(histories(steps)).toEqual(histories(stepsOf(recorded)))
  })

  test(`has the same gaps between changes, within ${toleranceMs} ms or 5 %`, () => {
    const [expected, actual] = [changesOf(stepsOf(recorded)), changesOf(steps)]
    const moments = new Map(actual.map(({ object, state, time }) => [`${object} ${state}`, time]))
    const momentOf = ({ object, state }: Step): number => moments.get(`${object} ${state}`) ?? Number.NaN
    // The limit doubles on an idle machine, and grows with its load.
    const limitMs = patient(toleranceMs / 2)
    const gaps = expected.slice(1).map((step, index) => {
      const before = expected[index] as Step
      const expectedMs = (step.time - before.time) / 1000 / speed
      return { step, expectedMs, actualMs: (momentOf(step) - momentOf(before)) / 1000 }
    })
    expect(gaps).toHaveLength(script.length - 1)
    const isWrong = ({ expectedMs, actualMs }: (typeof gaps)[number]): boolean =>
      !(Math.abs(actualMs - expectedMs) <= Math.max(limitMs, expectedMs * 0.05))
    expect(gaps.filter(isWrong)).toEqual([])
    const length = (all: ReadonlyArray<Step>): number => ((all.at(-1)?.time ?? 0) - (all[0]?.time ?? 0)) / 1000
    expect(Math.abs(length(actual) - length(expected) / speed)).toBeLessThanOrEqual(limitMs)
  })
})

/** The changes of the script. No object of it is in the same state twice. */
const changesOf = (steps: ReadonlyArray<Step>): ReadonlyArray<Step> => {
  const begun = new Set(["v1.ConfigMap before", "apps/v1.Deployment first"])
  // Their first state is that at the start.
  return steps.filter(({ object }) => !begun.delete(object))
}

async function* chunks(items: ReadonlyArray<TraceItem>): AsyncGenerator<ReadonlyArray<TraceItem>> {
  yield items
}
