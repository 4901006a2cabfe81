/** What an example guest does on a real API: the sandbox, over HTTP, with garbage collection. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"
import { parse } from "yaml"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { eventually } from "../../harness/eventually.ts"
import { GuestHost } from "./guest-host.ts"
import { connect } from "./live-host.ts"
import { examples } from "./toolchains.ts"

interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string; readonly ownerReferences: ReadonlyArray<object> }
  readonly spec: { readonly containers: ReadonlyArray<{ readonly image: string }> }
}

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
const simplePods = "/apis/slinky.dev/v1/namespaces/default/simplepods"
const pods = "/api/v1/namespaces/default/pods"

/** Declares the tests. `guest` returns the built module. */
export const keepsPodsOnTheSandbox = (guest: () => WebAssembly.Module): void => {
  test("keeps one pod per object on the sandbox, through deletions, changes, cut connections and expired versions", async () => {
    const sandbox = await Sandbox.start({ lifecycle: true })
    onTestFinished(() => sandbox.close())
    const call = async <Result>(method: string, path: string, body?: object): Promise<Result> => {
      const json = { "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json" }
      const init = body === undefined ? { method } : { method, headers: json, body: JSON.stringify(body) }
      const response = await fetch(sandbox.url + path, init)
      const text = await response.text()
      expect(response.ok, text).toBe(true)
      return JSON.parse(text) as Result
    }
    const create = (name: string): Promise<{ metadata: { uid: string } }> =>
      call("POST", simplePods, {
        apiVersion: "slinky.dev/v1",
        kind: "SimplePod",
        metadata: { name },
        spec: { image: "nginx:1.27" },
      })
    const present = async (): Promise<Readonly<Record<string, Pod>>> => {
      const { items } = await call<{ items: ReadonlyArray<Pod> }>("GET", pods)
      return Object.fromEntries(items.map((pod) => [pod.metadata.name, pod]))
    }
    const images = async (): Promise<Readonly<Record<string, string | undefined>>> =>
      Object.fromEntries(Object.entries(await present()).map(([name, pod]) => [name, pod.spec.containers[0]?.image]))

    // Started before its custom resource exists.
    const host = new GuestHost(guest())
    const cutConnections = connect(host, sandbox.url)
    await eventually(() => expect(host.log.join("\n")).toContain("404"))
    await call("POST", definitions, parse(readFileSync(join(examples, "simplepod-crd.yaml"), "utf8")) as object)
    const { metadata } = await create("web")
    await create("shop")
    await eventually(async () => expect(await images()).toEqual({ web: "nginx:1.27", shop: "nginx:1.27" }))
    const { web } = await present()
    expect(web?.metadata.ownerReferences).toEqual([
      { apiVersion: "slinky.dev/v1", kind: "SimplePod", name: "web", uid: metadata.uid, controller: true },
    ])

    await call("DELETE", `${pods}/web?gracePeriodSeconds=0`)
    await eventually(async () => expect((await present()).web?.metadata.uid).not.toBe(web?.metadata.uid))
    await eventually(async () => expect(await images()).toEqual({ web: "nginx:1.27", shop: "nginx:1.27" }))

    await call("PATCH", `${simplePods}/shop`, { spec: { image: "nginx:1.28" } })
    await eventually(async () => expect(await images()).toEqual({ web: "nginx:1.27", shop: "nginx:1.28" }))

    // While no watch is open.
    cutConnections()
    await call("DELETE", `${pods}/web?gracePeriodSeconds=0`)
    await create("late")
    const all = { web: "nginx:1.27", shop: "nginx:1.28", late: "nginx:1.27" }
    await eventually(async () => expect(await images()).toEqual(all))

    sandbox.faults.forceExpired("pods", 1)
    sandbox.faults.forceExpired("simplepods", 1)
    cutConnections()
    await call("DELETE", `${pods}/late?gracePeriodSeconds=0`)
    await eventually(() => expect(host.log.join("\n")).toMatch(/cannot be watched.*(?:410|no longer)/))
    await eventually(async () => expect(await images()).toEqual(all))

    for (const name of ["web", "shop", "late"]) await call("DELETE", `${simplePods}/${name}`)
    await eventually(async () => expect(await images()).toEqual({}))
  })
}
