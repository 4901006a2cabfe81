/** Controllers of controller-runtime as guests of the host: a manager with its cache, client, queue and timers, unchanged, in WebAssembly. */

import { copyFileSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"
import { parse } from "yaml"
import { hostCommand } from "../../src/cli/host.ts"
import { ApiClient, type ApiObject, kinds } from "../../src/kube/index.ts"
import { Sandbox } from "../../src/sandbox/index.ts"
import { ran } from "../cli/commands-in.ts"
import { examples } from "../examples/host/toolchains.ts"
import { lifeOfWebApps } from "../examples/host/webapp-life.ts"
import { eventually } from "../harness/eventually.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { hostWithAccounts } from "../host/dispatcher/host-with-accounts.ts"
import { keepsPods } from "../host/dispatcher/simplepod-life.ts"
import { goGuest } from "./build/compiled-program.ts"
import { skipBecause } from "./skip-because.ts"

const limits = { deadlineMs: 5000 }

const kindOf = (group: string, kind: string, plural: string) => ({
  ...{ gvk: { group, version: "v1", kind }, plural, namespaced: true },
})
const simplePods = kindOf("slinky.dev", "SimplePod", "simplepods")
const events = kindOf("events.k8s.io", "Event", "events")
const secrets = kindOf("", "Secret", "secrets")

const startSandbox = async () => {
  const sandbox = await Sandbox.start({ lifecycle: true, authorization: "rbac" })
  onTestFinished(() => sandbox.close())
  const administrator = { endpoint: async () => sandbox.endpoint, onUnauthorized: async () => undefined }
  const client = new ApiClient({ server: administrator, userAgent: "kubereel-test" })
  onTestFinished(() => client.close())
  return { administrator, client }
}

test("the SimplePod controller keeps one pod per object as its ServiceAccount, with a condition and an Event", async ({
  skip,
}) => {
  const program = await goGuest("simplepod", "examples/host/controller-runtime")
  if ("missing" in program) return skipBecause(skip, `the guest was not built: ${program.missing}`)
  const { administrator } = await startSandbox()
  const { permissions } = parse(readFileSync(join(examples, "controller-runtime/simplepod.yaml"), "utf8"))
  await keepsPods(administrator, "default", program.path, {
    ...{ limits, isPrepared: true, furtherRules: permissions },
    meanwhile: async (client) => {
      await eventually(async () =>
        expect(await client.get<ApiObject>(simplePods, { namespace: "default", name: "web" })).toMatchObject({
          // There is no node for it.
          status: { conditions: [{ type: "Ready", status: "False", reason: "PodNotReady", observedGeneration: 1 }] },
        }),
      )
      await eventually(async () =>
        expect((await client.list<ApiObject>(events, { namespace: "default" })).items).toContainEqual(
          expect.objectContaining({
            regarding: expect.objectContaining({ kind: "SimplePod", name: "web" }),
            ...{ reason: "Created", action: "Create", reportingController: "simplepods" },
          }),
        ),
      )
    },
  })
})

test("finalizers, apply, requests from other kinds, filters of events and requests after some time", async ({
  skip,
}) => {
  const program = await goGuest("guest", "test/clients/go/guest")
  if ("missing" in program) return skipBecause(skip, `the guest was not built: ${program.missing}`)
  const { administrator, client } = await startSandbox()
  const { host, add, logOf, notes, hasLogged } = hostWithAccounts({ endpoints: administrator })
  await add("guest", program.path, { limits })
  await hasLogged("guest", /Starting workers/)
  const web = { namespace: "default", name: "web" }
  const copied = { namespace: "default", name: "web-copy" }
  const copy = () => client.get<ApiObject>(kinds.configMaps, copied)
  const make = (kind: typeof secrets, more: object) =>
    client.create<ApiObject>(kind, { apiVersion: "v1", kind: kind.gvk.kind, metadata: web, ...more } as ApiObject)
  await make(secrets, { data: { word: btoa("one") } })
  await make(kinds.configMaps, {})
  await eventually(async () =>
    expect(await copy(), logOf("guest")).toMatchObject({ data: { word: "one", beats: "3" } }),
  )
  expect((await copy()).metadata).toMatchObject({ managedFields: [{ manager: "guest", operation: "Apply" }] })
  expect((await client.get(kinds.configMaps, web)).metadata.finalizers).toEqual(["example.com/copy"])
  // What was asked of it is answered 503, and tried again.
  await host.kill("executor")
  await client.patch(secrets, web, "merge", { data: { word: btoa("two") } })
  await eventually(async () => expect(await copy(), logOf("guest")).toMatchObject({ data: { word: "two" } }))
  await client.delete(kinds.configMaps, web)
  await eventually(async () => {
    const { items } = await client.list(kinds.configMaps, { namespace: "default" })
    expect(items.map(({ metadata }) => metadata.name)).not.toContain("web-copy")
    expect(items.map(({ metadata }) => metadata.name)).not.toContain("web")
  })
  const [status] = await host.statistics()
  expect(status, notes.join("\n")).toMatchObject({ phase: "running", restarts: 0 })
  await host.remove("guest")
})

test("the WebApp operator does with controller-runtime what it does in TypeScript", async ({ skip }) => {
  const program = await goGuest("webapp", "examples/host/controller-runtime/webapp")
  if ("missing" in program) return skipBecause(skip, `the guest was not built: ${program.missing}`)
  await lifeOfWebApps([
    [program.path, "webapp.wasm"],
    [join(examples, "controller-runtime/webapp/webapp.yaml"), "webapp.yaml"],
  ])
})

test("timers go by the time of a recording that is replayed into it", async ({ skip }) => {
  const program = await goGuest("simplepod", "examples/host/controller-runtime")
  if ("missing" in program) return skipBecause(skip, `the guest was not built: ${program.missing}`)
  const modules = temporaryDirectory()
  copyFileSync(program.path, join(modules, "simplepod.wasm"))
  copyFileSync(join(examples, "controller-runtime/simplepod.yaml"), join(modules, "simplepod.yaml"))
  const { output, error } = await ran(
    hostCommand(() => import("../../src/cli/host-replay.ts")),
    [modules, "--replay", join(examples, "typescript/outage.ndjson"), "--makes", "slinky.dev/v1.SimplePod=v1.Pod"],
  )
  // Pods of the recording lack the label that it selects by: it tries to make them with growing pauses, and makes the one that is deleted.
  expect(output, error).toMatch(/^simplepod-controller-runtime +\d+ +0 .*v1\.Pod created 1/m)
  const tries = [...`${output}${error}`.matchAll(/I0101 00:(\d\d:\d\d)\.\d+ .*"creates the pod".*shop\/api/g)].map(
    ([, at]) => at,
  )
  expect([tries[0], tries.at(-1)]).toEqual(["00:00", expect.stringMatching(/^0[12]:/)])
})
