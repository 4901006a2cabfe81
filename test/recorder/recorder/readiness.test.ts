/** What /readyz claims: something is being recorded, or the reason why nothing is. And what a recorder without a configuration records. */
import { expect, test } from "vitest"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { kubeconfigOf, Workplace } from "./recorder-command.ts"

const configMap = (name: string) => ({ metadata: { namespace: "shop", name } })

test("a recorder that may list nothing is not ready, and is once it may; an outage after that does not change it", async () => {
  await using place = new Workplace()
  await using sandbox = await Sandbox.start()
  sandbox.faults.respond("configmaps", 403)
  sandbox.faults.respond("deployments", 403)
  const kinds = { "v1.ConfigMap": "{}", "apps/v1.Deployment": "{}" }
  const recorder = place.record({ cluster: { server: sandbox.url }, kinds })
  await recorder.inState("v1.ConfigMap", /forbidden/)
  await recorder.inState("apps/v1.Deployment", /forbidden/)
  const { status, text } = await recorder.get("/readyz")
  expect(status).toBe(503)
  expect(text).toMatch(
    /^not ready: nothing is being recorded: v1\.ConfigMap, apps\/v1\.Deployment forbidden: add to a ClusterRole .*resources: \["configmaps"\].*resources: \["deployments"\].*; see \/readyz\?verbose\n$/,
  )
  sandbox.faults.clear()
  await recorder.ready()
  await recorder.inState("v1.ConfigMap", /watching/)
  await sandbox.faults.refuseConnections()
  await recorder.inState("v1.ConfigMap", /failing/)
  await recorder.inState("apps/v1.Deployment", /failing/)
  expect((await recorder.get("/readyz")).status).toBe(200)
  await sandbox.faults.acceptConnections()
})

test("a window in the future is rejected, and one that has not ended says up to when it reaches", async () => {
  await using place = new Workplace()
  await using sandbox = await Sandbox.start()
  const recorder = place.record({ cluster: { server: sandbox.url } })
  await recorder.ready()
  sandbox.put("v1.ConfigMap", configMap("settings"))
  const hour = 3_600_000_000
  const now = Date.now() * 1000
  const ask = (start_time: number, end_time: number, more: object = {}) =>
    recorder.post({
      start_ts: 0,
      end_ts: 0,
      start_time,
      end_time,
      export_path: "x",
      format: "ndjson",
      filters: { excluded_namespaces: [], excluded_labels: [] },
      ...more,
    })
  const future = await ask(now + hour, now + 2 * hour)
  expect(future.status).toBe(400)
  expect(await future.text()).toMatch(/^the window starts at [^ ]+Z, which is in the future; it is now [^ ]+Z\n$/)
  const forecast = (await (await ask(now + hour, now + 2 * hour, { dry_run: true })).json()) as { refusals: string[] }
  expect(forecast.refusals).toEqual([expect.stringContaining("which is in the future")])
  const running = await ask(now - hour, now + hour)
  expect(running.status).toBe(200)
  const [from, until] = (running.headers.get("kubereel-future") ?? "").split("/")
  expect(Math.abs(Date.parse(from ?? "") * 1000 - now)).toBeLessThan(60_000_000)
  expect(until).toBe(new Date((now + hour) / 1000).toISOString())
  expect((await ask(now - hour, now)).headers.get("kubereel-future")).toBeNull()
})

test("without --config the default is recorded, which is that of reel k8s, and is named", async () => {
  await using place = new Workplace()
  await using sandbox = await Sandbox.start()
  const kubeconfig = place.write("kubeconfig", kubeconfigOf({ server: sandbox.url }))
  const recorder = place.reel("record", "--kubeconfig", kubeconfig, "--listen", "0", "--data-dir", place.path("data"))
  await recorder.says(/v1\.Pod watching/)
  const [, recorded = ""] = await recorder.says(
    /no --config: recording the default configuration, (.*); "reel k8s --offline" prints it/,
  )
  const printed = place.reel("k8s", "--offline")
  expect(await printed.ended).toMatchObject({ code: 0 })
  const [, tracked = ""] = /trackedObjects:\n((?: {6}.*\n)*)/.exec(printed.output) ?? []
  expect(recorded.split(", ")).toEqual(tracked.match(/[\w./]+(?=: \{)/g))
  expect(recorded).toContain("apps/v1.Deployment")
  recorder.child.kill("SIGHUP")
  await recorder.says(/there is no configuration file to read again/)
  recorder.child.kill("SIGINT")
  expect(await recorder.ended).toMatchObject({ code: 0 })
})
