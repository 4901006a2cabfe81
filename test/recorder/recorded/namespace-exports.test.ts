/** Exports, forecasts, readiness and metrics of kinds recorded namespace by namespace: each namespace speaks for itself. */
import * as Effect from "effect/Effect"
import { afterEach, expect, test } from "vitest"
import type { TrackedKind } from "../../../src/recorder/configuration/tracked-kind.ts"
import { forecastExport } from "../../../src/recorder/export/forecast.ts"
import { type ExportRequest, readExportRequest } from "../../../src/recorder/export/request.ts"
import { type ExportContext, startExport } from "../../../src/recorder/export/start.ts"
import type { ExportRefusal } from "../../../src/recorder/http/body/http-answer.ts"
import { formatMetrics } from "../../../src/recorder/metrics/metrics-text.ts"
import { gatherMetrics } from "../../../src/recorder/metrics/recorder-metrics.ts"
import type { Sandbox } from "../../../src/sandbox/index.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { until } from "../recorder/recorder-command.ts"
import { expired, forbidden, NamespacedSandbox, resumes } from "./namespaced-sandbox.ts"
import { type RecordedSandbox, tracked } from "./recorded-sandbox.ts"

const configMaps = "v1.ConfigMap"
const within = (namespaces: ReadonlyArray<string>): TrackedKind => ({ ...tracked(configMaps), namespaces })

const opened: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

interface Recording {
  readonly server: NamespacedSandbox
  readonly recorded: RecordedSandbox
  kinds: ReadonlyArray<TrackedKind>
}

const start = async (
  prepare: (server: NamespacedSandbox) => void = () => undefined,
  namespaces: ReadonlyArray<string> = ["shop", "stock"],
): Promise<Recording> => {
  const server = await NamespacedSandbox.start({ bookmarkInterval: 100 })
  opened.push(() => server.close())
  prepare(server)
  const kinds = [within(namespaces)]
  const recorded = await server.record({ kinds, directory: temporaryDirectory() })
  opened.push(() => recorded.stopRecording())
  return { server, recorded, kinds }
}

const put = (sandbox: Sandbox, namespace: string, name: string) =>
  sandbox.put(configMaps, { metadata: { namespace, name } })

type Filters = Partial<ExportRequest["filters"]>

const contextOf = ({ recorded, kinds }: Recording): ExportContext => ({
  recording: recorded.actors,
  configuration: { kinds, source: "" },
  nowMicros: Date.now() * 1000,
})

const requestOf = (filters: Filters, more: object): ExportRequest => {
  const body = {
    start_ts: 0,
    end_ts: 0,
    start_time: 0,
    end_time: Date.now() * 1000,
    export_path: "trace.ndjson",
    filters: { excluded_namespaces: [], excluded_labels: [], ...filters },
    ...more,
  }
  const reading = readExportRequest(JSON.stringify(body))
  if (reading.tag === "refused") throw new Error(reading.message)
  return reading.request
}

interface Trace {
  readonly incomplete: string | undefined
  readonly header: { readonly incomplete: ReadonlyArray<object> }
  readonly names: ReadonlyArray<string>
}

/** The trace of a request, or why it is refused. */
const exportOf = async (recording: Recording, filters: Filters, more: object = {}): Promise<Trace | ExportRefusal> => {
  const pieces: Buffer[] = []
  const ended = Promise.withResolvers<string | undefined>()
  const reader = {
    piece: async (data: Uint8Array) => void pieces.push(Buffer.from(data)),
    end: (error: string | undefined) => ended.resolve(error),
  }
  const started = await Effect.runPromise(
    Effect.result(startExport(contextOf(recording), requestOf(filters, more), reader)),
  )
  if (started._tag === "Failure") return started.failure
  expect(await ended.promise).toBeUndefined()
  const lines = Buffer.concat(pieces).toString().trimEnd().split("\n")
  const [header, ...items] = lines.map((line) => JSON.parse(line) as Trace["header"] & { readonly name?: string })
  if (header === undefined) throw new Error("a trace has a header")
  return { incomplete: started.success.incomplete, header, names: items.flatMap(({ name }) => name ?? []) }
}

const forecastOf = (recording: Recording, filters: Filters, more: object = {}) =>
  Effect.runPromise(forecastExport(contextOf(recording), requestOf(filters, more)))

/** Once the named object is in an export of its namespace. */
const recordedIn = (recording: Recording, namespace: string, name: string): Promise<void> =>
  until(
    async () => {
      const trace = await exportOf(recording, { namespaces: [namespace] })
      return "names" in trace && trace.names.includes(name)
    },
    () => `${name} to be recorded`,
  )

const statesOf = ({ recorded }: Recording) =>
  recorded.actors.statuses.all()[0]?.namespaces.map(({ namespace, state }) => `${namespace} ${state}`)

test("an export of a healthy namespace is complete while another one is forbidden; any other names the forbidden one and why", async () => {
  const recording = await start((server) => {
    put(server.sandbox, "shop", "ours")
    server.answer("stock", forbidden)
  })
  await recording.recorded.inState(configMaps, "forbidden")
  await recordedIn(recording, "shop", "ours")
  for (const filters of [{ namespaces: ["shop"] }, { namespaces: ["sh*"] }, { excluded_namespaces: ["stock"] }])
    expect(await exportOf(recording, filters, { require: "all" })).toMatchObject({
      incomplete: undefined,
      header: { incomplete: [] },
      names: ["ours"],
    })
  for (const filters of [{}, { namespaces: ["stock"] }]) {
    expect(await exportOf(recording, filters)).toMatchObject({
      incomplete: "v1.ConfigMap in stock=forbidden",
      header: { incomplete: [{ gvk: configMaps, namespace: "stock", state: "forbidden" }] },
    })
    expect(await exportOf(recording, filters, { require: "all" })).toMatchObject({
      status: 409,
      message: expect.stringMatching(/: v1\.ConfigMap in namespace stock is forbidden \(.*add to a Role of this user/),
    })
  }
  expect(statesOf(recording)).toEqual(["shop watching", "stock forbidden"])
})

test("a namespace that fails while it is recorded makes exports of itself incomplete and of no other", async () => {
  const recording = await start()
  const { server, recorded } = recording
  await recorded.inState(configMaps, "watching")
  server.answer("stock", { code: 500, reason: "InternalError", message: "no" })
  server.hangUp("stock")
  await recorded.inState(configMaps, "failing")
  expect(await exportOf(recording, { namespaces: ["shop"] })).toMatchObject({ incomplete: undefined })
  expect(await exportOf(recording, {})).toMatchObject({ incomplete: "v1.ConfigMap in stock=failing" })
  server.permit()
  await recorded.inState(configMaps, "watching")
  expect(await exportOf(recording, {})).toMatchObject({ incomplete: undefined })
})

test("the first list of one namespace holds up exports of that one, not of another", async () => {
  const recording = await start((server) => {
    put(server.sandbox, "shop", "ours")
    server.hold("stock")
  })
  await until(async () => statesOf(recording)?.includes("shop watching") === true, "shop to be watched")
  expect(statesOf(recording)).toEqual(["shop watching", "stock listing"])
  expect(await exportOf(recording, { namespaces: ["shop"] }, { require: "all" })).toMatchObject({ names: ["ours"] })
  const refusal = { status: 503, message: expect.stringMatching(/^v1\.ConfigMap: being listed for the first time/) }
  for (const filters of [{}, { namespaces: ["stock"] }])
    expect(await exportOf(recording, filters)).toMatchObject(refusal)
  expect((await forecastOf(recording, { namespaces: ["shop"] })).refusals).toEqual([])
  expect((await forecastOf(recording, {})).refusals).toEqual([refusal.message])
  recording.server.permit()
  await recording.recorded.ready()
  expect(await exportOf(recording, {})).toMatchObject({ incomplete: undefined })
})

test("a namespace that was added later is what an earlier window lacks; the others have all of it", async () => {
  const recording = await start()
  const { recorded } = recording
  await recorded.inState(configMaps, "watching")
  const start_time = Date.now() * 1000
  recording.kinds = [within(["bank", "shop"])]
  await recorded.actors.reconfigure(recording.kinds)
  await recorded.inState(configMaps, "watching")
  const lacking = await exportOf(recording, {}, { start_time })
  expect(lacking).toMatchObject({
    incomplete: expect.stringMatching(/^v1\.ConfigMap in bank=(recorded-[^,]*|unrecorded)$/),
  })
  expect(await exportOf(recording, { namespaces: ["shop"] }, { start_time, require: "all" })).toMatchObject({
    incomplete: undefined,
  })
})

test("a forecast counts the gaps and troubles of the requested namespaces alone", async () => {
  const recording = await start()
  const { server, recorded } = recording
  await recorded.inState(configMaps, "watching")
  server.answer("stock", expired, 1, resumes)
  server.hangUp("stock")
  await until(async () => (await forecastOf(recording, {})).kinds[0]?.gaps.length === 1, "the gap")
  server.answer("stock", forbidden)
  server.hangUp("stock")
  await recorded.inState(configMaps, "forbidden")
  const ours = await forecastOf(recording, { namespaces: ["shop"] }, { require: "all" })
  expect(ours).toMatchObject({ incomplete: [], refusals: [] })
  expect(ours.kinds).toMatchObject([
    { state: "watching", gaps: [], ranges: [{}], namespaces: [{ namespace: "shop", state: "watching" }] },
  ])
  for (const filters of [{}, { namespaces: ["stock"] }]) {
    const theirs = await forecastOf(recording, filters, { require: "all" })
    expect(theirs.incomplete).toEqual(["v1.ConfigMap in stock=forbidden"])
    expect(theirs.kinds).toMatchObject([{ state: "forbidden", gaps: [{ namespace: "stock", reason: "expired" }] }])
    expect(theirs.refusals).toEqual([
      expect.stringMatching(/v1\.ConfigMap in namespace stock is forbidden .*; the window has 1 gap$/),
    ])
  }
})

test("readiness and metrics tell each namespace's state, and have no namespaces where a kind is watched as a whole", async () => {
  const metricsOf = async ({ recorded }: Recording) =>
    formatMetrics(await Effect.runPromise(gatherMetrics(recorded.actors, Date.now() * 1000)))
  const recording = await start((server) => server.answer("stock", forbidden))
  await recording.recorded.inState(configMaps, "forbidden")
  const readiness = recording.recorded.actors.statuses.verboseReadiness()
  expect(readiness).toMatch(/^\[!\]v1\.ConfigMap forbidden: namespace stock forbidden: /m)
  expect(readiness).toMatch(/^\[\+\]v1\.ConfigMap in namespace shop watching: from version \d+$/m)
  expect(readiness).toMatch(
    /^\[!\]v1\.ConfigMap in namespace stock forbidden: .*add to a Role of this user in stock: /m,
  )
  const metrics = await metricsOf(recording)
  const series = 'kubereel_kind_namespace_state{kind="v1.ConfigMap",namespace='
  for (const line of [
    `${series}"shop",state="watching"} 1`,
    `${series}"stock",state="watching"} 0`,
    `${series}"stock",state="forbidden"} 1`,
  ])
    expect(metrics).toContain(`${line}\n`)
  const whole = await start(undefined, ["shop"])
  await whole.recorded.inState(configMaps, "watching")
  expect(whole.recorded.actors.statuses.verboseReadiness()).not.toContain("in namespace")
  expect(await metricsOf(whole)).not.toContain("kubereel_kind_namespace_state{")
})
