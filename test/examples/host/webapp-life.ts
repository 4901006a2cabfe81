/** The life of WebApps under an operator in a process of `reel host`, whatever it is written in, over a cluster whose pods run. */
import { copyFileSync, mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, onTestFinished } from "vitest"
import { parse } from "yaml"
import type { ApiObject } from "../../../src/host/controllers.ts"
import { kubeconfigOf, LocalCluster } from "../../../src/sandbox/index.ts"
import { eventually } from "../../harness/eventually.ts"
import { ReelProcess, Workplace } from "../../recorder/recorder/recorder-command.ts"
import { examples } from "./toolchains.ts"

const webApp = "example.com/v1.WebApp"
const configMap = "v1.ConfigMap"

/** What it owns, what several share, what it says, and what it leaves behind. `files`: of the module, with their names in the directory that the host runs. */
export const lifeOfWebApps = async (files: ReadonlyArray<readonly [from: string, to: string]>): Promise<void> => {
  const cluster = await LocalCluster.start()
  onTestFinished(() => cluster.close())
  const { sandbox } = cluster
  const place = new Workplace()
  onTestFinished(() => place.close())
  const modules = place.path("modules")
  mkdirSync(modules)
  for (const [from, to] of files) copyFileSync(from, join(modules, to))
  sandbox.put(
    "apiextensions.k8s.io/v1.CustomResourceDefinition",
    parse(readFileSync(join(examples, "webapp/webapp-crd.yaml"), "utf8")),
  )
  const kubeconfig = place.write("kubeconfig", kubeconfigOf(sandbox.url))
  const host = new ReelProcess(["host", modules, "--kubeconfig", kubeconfig, "--listen", "0"], {})
  onTestFinished(() => host.kill())

  type Known = ApiObject & { readonly data?: object; readonly spec: never; readonly status: never }
  const get = (gvk: string, name: string) => sandbox.get(gvk, "default", name) as unknown as Known | undefined
  const put = (name: string, spec: object): unknown =>
    sandbox.put(webApp, { metadata: { namespace: "default", name }, spec } as never)
  const ready = (name: string) =>
    (get(webApp, name) as unknown as { status?: { conditions?: ReadonlyArray<object> } })?.status?.conditions?.[0]
  const settingsHash = (name: string): unknown =>
    (get("apps/v1.Deployment", name) as { spec?: { template: { metadata: { annotations: object } } } } | undefined)
      ?.spec?.template.metadata.annotations

  put("web", { image: "nginx:1", replicas: 2, settings: { COLOUR: "blue" }, sharedSettings: "common" })
  put("api", { image: "api:1" })
  await eventually(() => expect(ready("web"), host.log).toMatchObject({ status: "False", reason: "SettingsMissing" }))
  await eventually(() => expect(ready("api"), host.log).toMatchObject({ status: "True", reason: "AllReady" }))
  for (const gvk of ["apps/v1.Deployment", "v1.Service", configMap])
    expect(get(gvk, "web")?.metadata.ownerReferences).toMatchObject([{ kind: "WebApp", name: "web", controller: true }])
  expect(get(configMap, "web")?.data).toEqual({ COLOUR: "blue" })

  const before = settingsHash("web")
  sandbox.put(configMap, { metadata: { namespace: "default", name: "common" }, data: { LEVEL: "1" } })
  await eventually(() => expect(settingsHash("web")).not.toEqual(before))
  await eventually(() => expect(ready("web")).toMatchObject({ status: "True", message: "2 of 2 replicas are ready" }))
  expect(get(configMap, "webapp-routes")?.data).toEqual({ web: "web:8080", api: "api:8080" })
  const events = (): ReadonlyArray<unknown> =>
    sandbox
      .list("events.k8s.io/v1.Event")
      .map((event) => event as unknown as { reason: string; regarding: { kind: string; name: string } })
      .filter(({ regarding }) => regarding.kind === "WebApp" && regarding.name === "web")
      .map(({ reason }) => reason)
  await eventually(() => expect(events()).toEqual(expect.arrayContaining(["SettingsMissing", "AllReady"])))

  const gvk = { group: "example.com", version: "v1", kind: "WebApp" }
  await cluster.client.delete({ gvk, plural: "webapps", namespaced: true }, { namespace: "default", name: "web" })
  await eventually(() => expect(get(webApp, "web")).toBeUndefined())
  await eventually(() => expect(get("apps/v1.Deployment", "web")).toBeUndefined())
  expect(get(configMap, "webapp-routes")?.data).toEqual({ api: "api:8080" })
}
