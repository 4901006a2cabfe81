/** `reel serve` over a recording by our recorder, compared with what an observer of the cluster saw then. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { CoreV1Api, KubeConfig, makeInformer, type V1Pod } from "@kubernetes/client-node"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openPast, serveCommand } from "../../src/cli/serve.ts"
import { systemClock } from "../../src/clock.ts"
import { historyKubeconfig } from "../../src/serve/index.ts"
import { serving } from "../cli/commands-in.ts"
import { eventually } from "../harness/eventually.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { until } from "../runtime/until.ts"
import { type ApiObject, get, getJson } from "../sandbox/client.ts"
import { bodyOf, type Observation, paths, type RecordedCluster, recordCluster } from "./recorded-cluster.ts"
import { serve, watching } from "./served.ts"

const table = { Accept: "application/json;as=Table;v=v1;g=meta.k8s.io" }
let recorded: RecordedCluster
/** The observed tables of pods, whose ages are left out. */
const tables: Array<ReadonlyArray<unknown>> = []

const rowsIn = (text: string): ReadonlyArray<unknown> =>
  (JSON.parse(text) as { rows: ReadonlyArray<{ cells: ReadonlyArray<unknown> }> }).rows.map(({ cells }) =>
    cells.toSpliced(4, 1),
  )

beforeAll(async () => {
  recorded = await recordCluster({ look: (url) => bodyOf(`${url}/api/v1/pods`, table) })
  for (const { looked } of recorded.observations) tables.push(rowsIn(String(looked)))
}, 120_000)
afterAll(() => recorded?.close())

const open = () => openPast(recorded.dataDir, { environment: {}, signal: new AbortController().signal })
const moments = [0, 1, 2, 3, 4]
const observed = (index: number): Observation => recorded.observations[index] as Observation

const configAt = (server: string, moment?: string): KubeConfig => {
  const config = new KubeConfig()
  config.loadFromString(
    historyKubeconfig({ server, contexts: [{ name: "then", ...(moment !== undefined && { moment }) }] }),
  )
  return config
}

/** Started and synchronised. */
const informerOf = (config: KubeConfig) => {
  const core = config.makeApiClient(CoreV1Api)
  const informer = makeInformer<V1Pod>(config, "/api/v1/pods", () => core.listPodForAllNamespaces())
  return informer
}

const versions = (pods: ReadonlyArray<V1Pod | ApiObject>): ReadonlyArray<string> =>
  pods.map(({ metadata }) => `${metadata?.name}@${metadata?.resourceVersion}`).sort()

describe.each(moments)("at moment %i of a recording", (index) => {
  test("lists of every kind have the observed objects, and nothing is missing", async () => {
    const { url } = await serve(await open())
    const { time, lists } = observed(index)
    for (const path of paths) {
      const { items } = await getJson(`${url}/at/${time}${path}`)
      expect([path, items]).toEqual([path, lists.get(path)?.items])
      expect((await get(`${url}/at/${time}${path}`)).headers.warning).toBeUndefined()
    }
    expect(rowsIn(await bodyOf(`${url}/at/${time}/api/v1/pods`, table))).toEqual(tables[index])
  })

  test("an informer of client-node holds the observed pods", async () => {
    const { url } = await serve(await open())
    const { time, lists } = observed(index)
    const informer = informerOf(configAt(url, String(time)))
    await informer.start()
    expect(versions(informer.list())).toEqual(versions(lists.get("/api/v1/pods")?.items ?? []))
    await informer.stop()
  })
})

describe("while time runs", () => {
  test("watches deliver the very lines that the cluster sent", async () => {
    const { time } = observed(0)
    const past = await open()
    const { url, clock } = await serve(past, { root: { moment: String(time), speed: 100 } })
    for (const path of paths) {
      const { metadata } = await getJson(url + path)
      const seen = recorded.lines.get(path) ?? []
      const stream = await watching(`${url}${path}?watch=1&resourceVersion=${metadata.resourceVersion}`)
      clock.advance(path === paths[0] ? (past.end - time) / 100_000 + 1 : 0)
      // After the end there are lists with everything, which the watch is sent first.
      const { items } = await getJson(url + path)
      await until(() => stream.lines.length >= (path === paths[0] ? seen.length : 0))
      if (path === paths[0])
        expect(stream.lines.map((line) => JSON.parse(line))).toEqual(seen.map((line) => JSON.parse(line)))
      expect([path, items]).toEqual([path, observed(4).lists.get(path)?.items])
    }
  })

  test("an informer of client-node follows to the last observed pods", async () => {
    const past = await open()
    const { url } = await serve(past, { clock: systemClock, root: { moment: String(observed(0).time), speed: 20 } })
    const informer = informerOf(configAt(url))
    await informer.start()
    await eventually(() =>
      expect(versions(informer.list())).toEqual(versions(observed(4).lists.get("/api/v1/pods")?.items ?? [])),
    )
    await informer.stop()
  })
})

test("a kind that was recorded without changes of its status, and has no objects, says nothing of that", async () => {
  const { url } = await serve(await open())
  expect((await get(`${url}/apis/batch/v1/jobs`)).headers.warning).toBeUndefined()
})

describe("reel serve", () => {
  test("writes a kubeconfig with a context for each moment that only its owner can read, and serves until it is interrupted", async () => {
    const kubeconfig = join(temporaryDirectory(), "kubeconfig")
    const words = ["--at", "start", "--at", "end", "--listen", "0", "--kubeconfig-out", kubeconfig]
    await using _served = await serving(serveCommand(), [recorded.dataDir, ...words])
    const config = new KubeConfig()
    config.loadFromString(readFileSync(kubeconfig, "utf8"))
    expect([config.getContexts().map(({ name }) => name), config.getCurrentContext()]).toEqual([
      ["start", "end"],
      "start",
    ])
    const podsOf = async (context: string) => {
      config.setCurrentContext(context)
      return (await config.makeApiClient(CoreV1Api).listPodForAllNamespaces()).items
    }
    expect(versions(await podsOf("start"))).toEqual([])
    expect(versions(await podsOf("end"))).toEqual(versions(observed(4).lists.get("/api/v1/pods")?.items ?? []))
  })
})
