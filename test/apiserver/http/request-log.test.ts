import { beforeEach, expect, test } from "vitest"
import { RequestLog } from "../../../src/apiserver/http/request-log.ts"
import { get, Watch } from "../../sandbox/client.ts"
import { openForFile } from "../../sandbox/opened-sandbox.ts"

const sandbox = await openForFile()
beforeEach(() => sandbox.requests.clear())

test("records of every request what was asked, by whom, and the response", async () => {
  await get(`${sandbox.url}/api/v1/namespaces/a/pods/x`, { "User-Agent": "kubereel/0.1.0" })
  await get(`${sandbox.url}/apis/apps/v1/namespaces/b/deployments?limit=5&continue=`)
  await get(`${sandbox.url}/apis`)
  await get(`${sandbox.url}/api/v1/pods`, {}, "DELETE")
  const watch = await Watch.open(`${sandbox.url}/api/v1/pods?watch=true&resourceVersion=1002`)
  watch.close()
  const entries = sandbox.requests.entries()
  expect(
    entries.map(({ method, verb, resource, namespace, name, query, status }) =>
      [method, verb, resource, namespace, name, query, status].join(" "),
    ),
  ).toEqual([
    "GET get pods a x  404",
    "GET list deployments b  limit=5&continue= 200",
    "GET discovery discovery    200",
    "DELETE deletecollection pods    405",
    "GET watch pods   watch=true&resourceVersion=1002 200",
  ])
  expect(entries[0]).toMatchObject({ userAgent: "kubereel/0.1.0", path: "/api/v1/namespaces/a/pods/x" })
  const first = entries[0]?.number ?? 0
  expect(entries.map(({ number }) => number - first)).toEqual([0, 1, 2, 3, 4])
})

test("can be counted by any member, and waited for", async () => {
  const seen = sandbox.requests.waitFor({ verb: "list", resource: "secrets", status: 200 }, 2)
  await get(`${sandbox.url}/api/v1/secrets`)
  await get(`${sandbox.url}/api/v1/pods`)
  await get(`${sandbox.url}/api/v1/namespaces/a/secrets`)
  expect((await seen).map(({ namespace }) => namespace)).toEqual([undefined, "a"])
  expect([sandbox.requests.count(), sandbox.requests.count({ resource: "secrets" })]).toEqual([3, 2])
  await sandbox.requests.waitFor({ resource: "pods" })
})

test("keeps the newest entries and counts all", () => {
  const log = new RequestLog(4)
  const entry = { method: "GET", path: "/", query: "", verb: "list", resource: "pods", userAgent: "", receivedAt: 0 }
  for (let index = 0; index < 100; index++) log.open({ ...entry, namespace: undefined, name: undefined })
  expect(log.total).toBe(100)
  expect(log.entries().at(-1)?.number).toBe(100)
  expect(log.count()).toBeLessThanOrEqual(5)
  log.clear()
  log.open({ ...entry, namespace: undefined, name: undefined })
  expect([log.total, log.entries().map(({ number }) => number)]).toEqual([1, [101]])
})
