/** Pages for probes and dashboards; the statuses and texts are those of Kubernetes 1.34.4. */

import { expect, test } from "vitest"
import { openForFile } from "../../sandbox/opened-sandbox.ts"

const sandbox = await openForFile()

const ask = async (path: string, method = "GET"): Promise<readonly [status: number, text: string]> => {
  const answer = await fetch(sandbox.url + path, { method })
  return [answer.status, await answer.text()]
}

test("each check has a page of its own, and unknown ones have none", async () => {
  for (const path of ["/healthz", "/livez", "/readyz", "/livez/ping", "/livez/etcd", "/readyz/informer-sync"])
    expect([path, ...(await ask(path))]).toEqual([path, 200, "ok"])
  for (const path of ["/livez/nothing", "/livez/informer-sync", "/readyz/ping/x"])
    expect([path, ...(await ask(path))]).toEqual([path, 404, "404 page not found\n"])
  expect(await ask("/readyz", "POST")).toEqual([200, "ok"])
})

test("with verbose the checks are listed, and excluded ones are marked", async () => {
  expect(await ask("/livez?verbose")).toEqual([200, "[+]ping ok\n[+]log ok\n[+]etcd ok\nlivez check passed\n"])
  const [, text] = await ask("/readyz?verbose=1&exclude=etcd&exclude=no")
  expect(text.split("\n")).toEqual([
    "[+]ping ok",
    "[+]log ok",
    "[+]etcd excluded: ok",
    "[+]etcd-readiness ok",
    "[+]informer-sync ok",
    "[+]shutdown ok",
    'warn: some health checks cannot be excluded: no matches for "no"',
    "readyz check passed",
    "",
  ])
})

test("metrics count requests by kind, verb and status, open watches and objects", async () => {
  sandbox.put("v1.ConfigMap", { metadata: { name: "a" } })
  await ask("/api/v1/configmaps")
  await ask("/api/v1/namespaces/default/configmaps/none")
  for (const path of ['/api/v1/made-"up"', "/apis/made.up", "/api/v1/namespaces/default/secrets/a/made"])
    await ask(path)
  const controller = new AbortController()
  await fetch(`${sandbox.url}/api/v1/configmaps?watch=1`, { signal: controller.signal })
  const [status, text] = await ask("/metrics")
  controller.abort()
  expect(status).toBe(200)
  const common = 'component="apiserver",dry_run="",group="",resource="configmaps"'
  for (const line of [
    "# TYPE apiserver_request_total counter",
    `apiserver_request_total{code="200",${common},scope="cluster",subresource="",verb="LIST",version="v1"} 1`,
    `apiserver_request_total{code="200",${common},scope="cluster",subresource="",verb="WATCH",version="v1"} 1`,
    `apiserver_request_total{code="404",${common},scope="resource",subresource="",verb="GET",version="v1"} 1`,
    'apiserver_longrunning_requests{component="apiserver",group="",resource="configmaps",verb="WATCH",version="v1"} 1',
    'apiserver_resource_objects{group="",resource="configmaps"} 1',
    'kubernetes_build_info{git_version="v1.34.4+sandbox",major="1",minor="34"} 1',
  ])
    expect(text.split("\n")).toContain(line)
  expect(text).not.toContain("made")
  expect((await ask("/metrics", "POST"))[0]).toBe(405)
})
