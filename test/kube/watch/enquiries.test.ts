/** The one-off requests around a watch, on a real server. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, expect, test } from "vitest"
import { HttpClient } from "../../../src/kube/http/http-client.ts"
import { clusterUid, HttpEnquiries } from "../../../src/kube/watch/enquiries.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"

const configMap = { group: "", version: "v1", kind: "ConfigMap" }
const selection = { path: "/api/v1/configmaps", labelSelector: undefined, fieldSelector: undefined }

const closers: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})
const connect = (server: string): HttpClient => {
  const client = new HttpClient({ server, headers: [] }, { userAgent: "kubereel/test" })
  closers.unshift(() => client.close())
  return client
}
const start = async () => {
  const sandbox = await Sandbox.start({ bookmarkInterval: 0 })
  closers.push(() => sandbox.close())
  return { sandbox, client: connect(sandbox.url) }
}
const discover = async (enquiries: HttpEnquiries) => {
  let path = ""
  const input = await enquiries.discover((found) => {
    path = found
  })
  return { input, path }
}

test("an installed kind is found, with the cluster's UID", async () => {
  const { sandbox, client } = await start()
  expect(await discover(new HttpEnquiries(client, configMap, undefined))).toEqual({
    input: { type: "discovered", clusterUid: sandbox.clusterUid },
    path: "/api/v1/configmaps",
  })
})

test("one namespace is requested by its path, but not for a cluster-scoped kind", async () => {
  const { client } = await start()
  const paths = ["ConfigMap", "Node"].map(async (kind) => {
    return (await discover(new HttpEnquiries(client, { ...configMap, kind }, "shop"))).path
  })
  expect(await Promise.all(paths)).toEqual(["/api/v1/namespaces/shop/configmaps", "/api/v1/nodes"])
})

test("a missing kind and a server that cannot tell are distinguished", async () => {
  const { sandbox, client } = await start()
  const enquiries = new HttpEnquiries(client, { group: "example.com", version: "v1", kind: "Widget" }, undefined)
  expect((await discover(enquiries)).input).toEqual({ type: "not-installed" })
  sandbox.faults.respond("discovery", 503)
  expect((await discover(enquiries)).input).toMatchObject({ type: "discovery-failed", status: { code: 503 } })
  await sandbox.faults.refuseConnections()
  expect((await discover(enquiries)).input).toMatchObject({ type: "discovery-failed", status: { code: 0 } })
})

test("a probe returns the server's version and cluster, at the price of one object", async () => {
  const { sandbox, client } = await start()
  for (const name of ["a", "b", "c"]) sandbox.put(configMap, { metadata: { name } })
  expect(await new HttpEnquiries(client, configMap, undefined).probe(selection)).toEqual({
    type: "probed",
    version: sandbox.resourceVersion,
    clusterUid: sandbox.clusterUid,
  })
  expect(sandbox.requests.entries({ resource: "configmaps" }).map(({ query }) => query)).toEqual(["limit=1"])
})

test("a cluster whose UID may not be read has none", async () => {
  const { sandbox, client } = await start()
  sandbox.faults.respond("namespaces", 403)
  expect(await clusterUid(client)).toBeUndefined()
  const probed = await new HttpEnquiries(client, configMap, undefined).probe(selection)
  expect(probed).toMatchObject({ type: "probed", clusterUid: undefined })
})

test("a probe that is rejected, or reaches no server, fails with the reason", async () => {
  const { sandbox, client } = await start()
  const enquiries = new HttpEnquiries(client, configMap, undefined)
  sandbox.faults.respond("configmaps", 429, { retryAfterSeconds: 9 })
  expect(await enquiries.probe(selection)).toMatchObject({
    type: "probe-failed",
    status: { code: 429, retryAfterSeconds: 9 },
  })
  await sandbox.faults.refuseConnections()
  expect(await enquiries.probe(selection)).toMatchObject({ type: "probe-failed", status: { code: 0 } })
})

test.each(["", "<html>", "null", "[]", '{"metadata":null}', '{"metadata":{}}', '{"items":[]}'])(
  "a probe answered with %j has failed",
  async (body) => {
    const server = createServer((_, response) => response.end(body))
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    closers.push(() => server.close())
    const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    expect(await new HttpEnquiries(client, configMap, undefined).probe(selection)).toMatchObject({
      type: "probe-failed",
      status: { message: expect.stringContaining("metadata.resourceVersion") },
    })
  },
)
