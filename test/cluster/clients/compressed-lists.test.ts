/** Lists that a real API server compresses: the same objects, byte for byte, in a fraction of the bytes. */
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest"
import { systemClock } from "../../../src/clock.ts"
import {
  ApiClient,
  type Credentials,
  compileDetectRules,
  defaultWatchPolicy,
  HttpClient,
  HttpEnquiries,
  type HttpStream,
  kinds,
  loadCredentials,
  WatchSession,
} from "../../../src/kube/index.ts"
import { eventually } from "../../harness/eventually.ts"
import { Notebook } from "../../kube/watch/notebook.ts"
import { openTestCluster } from "../guard.ts"

const userAgent = "kubereel-compression-test"
const namespace = `compressed-${process.pid}`
const configMap = { group: "", version: "v1", kind: "ConfigMap" }
/** Several pages above the 128 KiB from which on an API server compresses, and a last one below. */
const count = 230
const pageSize = 100

let credentials: Credentials
let client: ApiClient

beforeAll(async () => {
  const { kubeconfig } = await openTestCluster()
  credentials = await loadCredentials({ kubeconfig, context: undefined })
  client = new ApiClient({ server: credentials, userAgent })
  await client.create(kinds.namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } })
  for (let index = 0; index < count; index++) {
    await client.create(kinds.configMaps, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: `settings-${index}`, namespace },
      data: { text: `line ${index} of the settings\n`.repeat(100) },
    })
  }
})
afterAll(async () => {
  await client?.delete(kinds.namespaces, { name: namespace })
  client?.close()
})

/** Lists in pages; returns the objects by name and the bytes on the network. */
const list = async (gzip: boolean) => {
  const http = new HttpClient(await credentials.endpoint(), { userAgent })
  const streams: HttpStream[] = []
  const notebook = new Notebook()
  const session = new WatchSession({
    transport: {
      get: (path, headers, handler) => {
        const stream = http.get(path, headers, handler)
        if (!path.includes("watch=1")) streams.push(stream)
        return stream
      },
    },
    gvk: configMap,
    enquiries: new HttpEnquiries(http, configMap, namespace),
    sink: notebook,
    listener: notebook,
    clock: systemClock,
    random: Math.random,
    policy: { ...defaultWatchPolicy, pageSize },
    rules: compileDetectRules({ gvk: configMap, detect: "all", ignore: [] }),
    labelSelector: undefined,
    fieldSelector: undefined,
    lists: { inPages: true, gzip },
    resumeVersion: undefined,
    clusterUid: undefined,
  })
  onTestFinished(() => {
    session.stop()
    http.close()
  })
  session.start()
  await eventually(() => expect(notebook.state).toBe("watching"))
  return {
    objects: new Map(notebook.objects.map(({ name, json }) => [name, json])),
    received: streams.reduce((total, { bytesReceived }) => total + bytesReceived, 0),
    body: session.statistics.bytes,
    lists: streams.length,
  }
}

test("a compressed list is the same list", async () => {
  const plain = await list(false)
  const compressed = await list(true)
  expect(plain.objects.size).toBeGreaterThanOrEqual(count)
  expect(compressed.objects).toEqual(plain.objects)
  expect([plain.lists, compressed.lists]).toEqual([3, 3])
  expect(plain.received).toBeGreaterThan(plain.body)
  expect(compressed.received).toBeLessThan(compressed.body / 3)
})
