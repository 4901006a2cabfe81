/**
 * What the recorder exports for a replay, a real server accepts in another place, whoever replays it: objects of all built-in workload
 * kinds, which controllers and the scheduler have worked on, go from the recorder into each format and from there into another namespace.
 *
 * A plain driver does that, which changes nothing in an object but its namespace and forces nothing, like SimKube's; and `reel replay`.
 */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type OpenTarget, openTarget } from "../../../src/cli/replay/replay-target.ts"
import { systemClock } from "../../../src/clock.ts"
import {
  type ApiClient,
  type ApiError,
  type ApiObject,
  type Kind,
  kinds,
  type Pod,
  ResourceFinder,
} from "../../../src/kube/index.ts"
import { cleanUp } from "../../../src/simulation/index.ts"
import { DEFAULT_TEMPLATE_PATHS, type ObjectEvent, type TraceFormatName } from "../../../src/trace/index.ts"
import { type Recorder, startRecorder } from "../command.ts"
import { openTestCluster } from "../guard.ts"
import { gvkOf, itemsOf, kindOf, replay } from "./recorded-trace.ts"
import { startDriver } from "./simkube-driver.ts"
import { clusterObjects, namespacedObjects } from "./workload.ts"

const id = `exports-${process.pid}`
/** The namespace that the workload names in its references. */
const source = `replayed-${id}`

let target: OpenTarget
let client: ApiClient
let finder: ResourceFinder
let recorder: Recorder | undefined
let directory = ""
let kubeconfig = ""
const made: Array<readonly [Kind, string]> = []
const replays: string[] = []

const create = async (object: ApiObject): Promise<void> => {
  const kind = await kindOf(finder, object)
  await client.create(kind, object)
  if (!kind.namespaced) made.push([kind, object.metadata.name])
}
const namespace = (name: string): ApiObject => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })

const until = async (what: string, condition: () => Promise<boolean>, forMs = 60_000): Promise<void> => {
  for (const deadline = performance.now() + forMs; !(await condition()); await sleep(100))
    if (performance.now() > deadline) throw new Error(`waited ${forMs} ms in vain until ${what}`)
}

beforeAll(async () => {
  const cluster = await openTestCluster()
  kubeconfig = cluster.kubeconfig
  target = await openTarget({ kubeconfig, context: undefined, concurrency: 16 })
  client = target.client
  finder = new ResourceFinder(client.connection)
  directory = await mkdtemp(join(tmpdir(), "kubereel-exports-"))
  const config = join(directory, "config.yml")
  const workload = [...clusterObjects(id), ...namespacedObjects(id), namespace(source)]
  const tracked = [...new Set(workload.map(gvkOf))].map((gvk) => `  ${gvk}: {}\n`)
  await writeFile(config, `trackedObjects:\n${tracked.join("")}`)
  await mkdir(join(directory, "data"))
  recorder = await startRecorder(cluster, config, join(directory, "data"))
  await create(namespace(source))
  for (const object of clusterObjects(id)) await create(object)
  await until("the namespace has a service account", async () => {
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } }
    return (await client.list(await kindOf(finder, account), { namespace: source })).items.length > 0
  })
  for (const object of namespacedObjects(id))
    await create({ ...object, metadata: { ...object.metadata, namespace: source } })
  const statusOf = async (kind: Kind, name: string): Promise<Readonly<Record<string, unknown>>> =>
    ((await client.get<ApiObject>(kind, { namespace: source, name })).status ?? {}) as Record<string, unknown>
  const isSettled = async (): Promise<boolean> => {
    const [web, claim, once] = await Promise.all([
      statusOf(kinds.deployments, "web"),
      statusOf(kinds.claims, "bound"),
      statusOf(kinds.jobs, "once"),
    ])
    return web.readyReplicas === 2 && claim.phase === "Bound" && once.succeeded === 1
  }
  // In one of some dozen runs a pod was still not running after a minute. Its controller makes another.
  await until("the controllers and the nodes have done their work", isSettled, 30_000).catch(async (error: Error) => {
    const { items } = await client.list<Pod>(kinds.pods, { namespace: source })
    const stuck = items.filter(({ status }) => status?.phase === "Pending")
    const nodes = stuck.map(({ metadata, spec, status }) => [metadata.name, spec.nodeName, status?.conditions])
    process.stderr.write(`${error.message}; pending pods: ${JSON.stringify(nodes)}\n`)
    for (const { metadata } of stuck) await client.delete(kinds.pods, metadata)
    await until("the controllers and the nodes have done their work", isSettled)
  })
  const scale = { apiVersion: "apps/v1", kind: "Deployment", spec: { replicas: 3 } }
  const place = { namespace: source, name: "web" }
  await client.apply(kinds.deployments, place, { ...scale, metadata: place }, { fieldManager: "test", force: true })
  await until(
    "the Deployment has been scaled",
    async () => (await statusOf(kinds.deployments, "web")).readyReplicas === 3,
  )
})
afterAll(async () => {
  await recorder?.stop()
  if (directory !== "") await rm(directory, { recursive: true, force: true })
  const signal = new AbortController().signal
  for (const name of replays) await cleanUp({ client, clock: systemClock, replay: name, signal })
  for (const [kind, name] of made.reverse()) await client.delete(kind, { name })
  await target?.[Symbol.asyncDispose]()
})

interface Format {
  readonly format: TraceFormatName
  readonly more?: Readonly<Record<string, unknown>>
  /** Objects that refer to kinds that the format cannot represent. */
  readonly excluded?: ReadonlyArray<string>
}

const exported = async ({ format, more, excluded = [] }: Format): Promise<Uint8Array> => {
  const filters = {
    excluded_namespaces: [],
    excluded_labels: [],
    namespaces: [source],
    excluded_names: excluded.map((name) => `${source}/${name}`),
    excluded_owned: true,
    excluded_daemonset_owned: true,
  }
  const body = { start_ts: 0, end_ts: Math.ceil(Date.now() / 1000), export_path: "file:///export", filters, format }
  const response = await fetch(`${recorder?.address}/export`, {
    method: "POST",
    body: JSON.stringify({ ...body, ...more }),
  })
  const bytes = new Uint8Array(await response.arrayBuffer())
  if (response.status !== 200) throw new Error(`${response.status} ${Buffer.from(bytes).toString()}`)
  return bytes
}

const eventsOf = async (format: TraceFormatName, bytes: Uint8Array): Promise<ReadonlyArray<ObjectEvent>> => {
  const events: ObjectEvent[] = []
  for await (const items of itemsOf([bytes], format))
    for (const item of items)
      if (item.type === "event" && item.event.type === "object")
        events.push({ ...item.event, object: Uint8Array.from(item.event.object) })
  return events
}

/** Applies the trace in a new namespace; what the server refused, as `Kind name: reason`. */
const driven = async (at: string, events: ReadonlyArray<ObjectEvent>): Promise<ReadonlyArray<string>> => {
  await create(namespace(at))
  const refused: string[] = []
  for (const { action, name, object: bytes } of events) {
    // Every namespace has its own of these.
    if (action !== "applied" || name === "default" || name === "kube-root-ca.crt") continue
    const object = JSON.parse(Buffer.from(bytes).toString()) as ApiObject
    const body = { ...object, metadata: { ...object.metadata, namespace: at } }
    const kind = await kindOf(finder, object)
    await client
      .apply(kind, { namespace: at, name }, body, { fieldManager: "simkube" })
      .catch((error: ApiError) => refused.push(`${object.kind} ${name}: ${error.message}`))
  }
  return refused
}

const formats: ReadonlyArray<Format & { readonly title: string }> = [
  // Its service account and priority class have no pod template.
  { title: "simkube", format: "simkube", excluded: ["bare"] },
  { title: "kwok", format: "kwok" },
  { title: "NDJSON for replay", format: "ndjson", more: { sanitise: "replay" } },
]

describe.each(formats)("Exported as $title, built-in workloads", (wanted) => {
  const { format } = wanted

  test("are accepted in another namespace as they are in the trace", async () => {
    const events = await eventsOf(format, await exported(wanted))
    const namespaced = new Set(namespacedObjects(id).map(gvkOf))
    const expected = [...namespaced].filter((gvk) => format !== "simkube" || DEFAULT_TEMPLATE_PATHS.has(gvk))
    expect(new Set(events.map(({ gvk }) => gvk))).toEqual(new Set(expected))
    expect(await driven(`${format}-${id}`, events)).toEqual([])
    const { spec } = await client.get<ApiObject>(kinds.deployments, { namespace: `${format}-${id}`, name: "web" })
    expect(spec).toMatchObject({ replicas: 3 })
  })

  test("contain each state of an object once", async () => {
    const last = new Map<string, string>()
    for (const { gvk, name, object } of await eventsOf(format, await exported(wanted))) {
      const [key, state] = [`${gvk} ${name}`, Buffer.from(object).toString()]
      expect(last.get(key)).not.toBe(state)
      last.set(key, state)
    }
    const web = (await eventsOf(format, await exported(wanted))).filter(
      ({ gvk, name }) => gvk === "apps/v1.Deployment" && name === "web",
    )
    expect(web).toHaveLength(2)
  })

  test("are accepted by the server when reel replay writes them", async () => {
    const name = `${format}-${process.pid}`
    replays.push(name)
    const report = await replay(client, name, itemsOf([await exported(wanted)], format), { namespacePrefix: format })
    expect(report.refused).toEqual([])
    expect(report.seed.accepted + report.events.accepted).toBeGreaterThan(format === "simkube" ? 6 : 20)
  })
})

test("exported as simkube, built-in workloads are replayed by SimKube's own driver to the end of the trace", async (context) => {
  const binary = process.env.KUBEREEL_SK_DRIVER
  if (binary === undefined || binary === "") return context.skip("KUBEREEL_SK_DRIVER does not name SimKube's driver")
  const [wanted] = formats
  const trace = join(directory, "driver.sktrace")
  await writeFile(trace, await exported(wanted as Format))
  const run = await startDriver({ binary, kubeconfig, client, directory, name: `driver-${id}`, trace })
  made.push(...run.made)
  const at = { namespace: `simkube-${source}`, name: "web" }
  // It removes everything when it has come to the end, and ends with another code at the first refusal.
  let early: string | undefined
  void run.ended.then(({ code, log }) => {
    early = `the driver ended with ${code}: ${log}`
  })
  await until("the driver has created the Deployment and scaled it", async () => {
    if (early !== undefined) throw new Error(early)
    const found = await client.get<ApiObject>(kinds.deployments, at).catch(() => undefined)
    return (found?.spec as { replicas?: number } | undefined)?.replicas === 3
  })
  const { code, log } = await run.ended
  expect(code, log).toBe(0)
})

test("as the server sent them, a Job and a Service are not accepted there", async () => {
  const events = await eventsOf("ndjson", await exported({ format: "ndjson" }))
  const refused = await driven(
    `raw-${id}`,
    events.filter(({ gvk, name }) => gvk === "batch/v1.Job" || (gvk === "v1.Service" && name === "inner")),
  )
  expect(new Set(refused.map((text) => text.split(" ")[0]))).toEqual(new Set(["Job", "Service"]))
})
