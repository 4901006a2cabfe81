import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { allowOldCluster, openTestCluster } from "../cluster/guard.ts"

const hour = 60 * 60 * 1000
/** The API server's own clock, far from ours. */
const serverNow = Date.parse("2031-05-05T12:00:00Z")

describe("the guard before tests that write", () => {
  let server: Server
  let directory = ""
  let kubeconfig = ""
  let age: number | undefined

  beforeAll(async () => {
    server = createServer((request, response) => {
      expect(request.url).toBe("/api/v1/namespaces/kube-system")
      const creationTimestamp = age === undefined ? undefined : new Date(serverNow - age).toISOString()
      response.setHeader("Date", new Date(serverNow).toUTCString())
      response.end(JSON.stringify({ metadata: { creationTimestamp } }))
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    directory = await mkdtemp(join(tmpdir(), "kubereel-guard-"))
    kubeconfig = join(directory, "kubeconfig")
    const { port } = server.address() as AddressInfo
    await writeFile(
      kubeconfig,
      `current-context: c
contexts: [{name: other, context: {cluster: b, user: b}}, {name: c, context: {cluster: a, user: a}}]
clusters: [{name: b, cluster: {server: "http://127.0.0.1:1"}}, {name: a, cluster: {server: "http://127.0.0.1:${port}"}}]
users: [{name: a, user: {token: t}}]
`,
    )
  })
  afterAll(async () => {
    server.close()
    await rm(directory, { recursive: true, force: true })
  })

  test("does not look at KUBECONFIG", async () => {
    await expect(openTestCluster({ KUBECONFIG: kubeconfig })).rejects.toThrow("KUBEREEL_TEST_KUBECONFIG is not set")
  })

  test("accepts a cluster that is younger than a day by the server's clock", async () => {
    age = 23 * hour
    const cluster = await openTestCluster({ KUBEREEL_TEST_KUBECONFIG: kubeconfig })
    expect(cluster).toMatchObject({ kubeconfig, kubectl: "kubectl" })
  })

  test("rejects an older one and says how to override that", async () => {
    age = 25 * hour
    const environment = { KUBEREEL_TEST_KUBECONFIG: kubeconfig }
    await expect(openTestCluster(environment)).rejects.toThrow(`older than a day`)
    await expect(openTestCluster(environment)).rejects.toThrow(`${allowOldCluster}=1`)
    await expect(openTestCluster({ ...environment, [allowOldCluster]: "1" })).resolves.toMatchObject({ kubeconfig })
  })

  test("rejects a cluster of unknown age", async () => {
    age = undefined
    await expect(openTestCluster({ KUBEREEL_TEST_KUBECONFIG: kubeconfig })).rejects.toThrow("older than a day")
  })
})
