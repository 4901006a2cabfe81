/** The past of a running recorder, and of its directory while it writes: the same answers, by the names that the server gave its kinds. */
import { afterAll, beforeAll, expect, test } from "vitest"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { eventsCommand } from "../../src/cli/events.ts"
import { getCommand } from "../../src/cli/get.ts"
import { historyCommand } from "../../src/cli/history.ts"
import { kubeconfigOf, Sandbox } from "../../src/sandbox/index.ts"
import { type RecorderProcess, Workplace } from "../recorder/recorder/recorder-command.ts"
import { ran } from "./commands-in.ts"
import { startServiceProxy, status } from "./service-proxy.ts"

let place: Workplace
let sandbox: Sandbox
let recorder: RecorderProcess
beforeAll(async () => {
  place = new Workplace()
  sandbox = await Sandbox.start()
  sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name: "prices" }, data: { tea: "1" } })
  recorder = place.record({
    cluster: { server: sandbox.url },
    kinds: { "v1.ConfigMap": "{}", "apps/v1.Deployment": "{}" },
  })
  await recorder.ready()
})
afterAll(async () => {
  await place.close()
  await sandbox.close()
})

test("what just changed is in the answer, complete, of the recorder and of its directory", async () => {
  const server = await recorder.listening()
  sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name: "prices" }, data: { tea: "2" } })
  const changed = async (): Promise<string> => {
    const { output } = await ran(historyCommand(), ["cm/prices", "-n", "shop", "--server", server])
    return output.includes('data.tea: "1" → "2"') ? output : changed()
  }
  expect(await changed()).toMatch(/created {5}v1\.ConfigMap shop\/prices/)
  const online = await ran(getCommand(), ["configmaps", "-o", "yaml", "--server", server])
  expect([online.code, online.error]).toEqual([exitCodes.ok, ""])
  expect(online.output).toContain('tea: "2"')
  const offline = await ran(getCommand(), ["configmaps", "-o", "yaml", "--data-dir", place.path("data")])
  expect(offline.output).toBe(online.output)
})

test("the recording has what discovery said of its kinds", async () => {
  const response = await fetch(`${await recorder.listening()}/v1/kinds`)
  const { items } = (await response.json()) as { items: ReadonlyArray<{ gvk: string; discovered: object }> }
  const deployments = items.find(({ gvk }) => gvk === "apps/v1.Deployment")
  expect(deployments?.discovered).toMatchObject({
    ...{ plural: "deployments", singular: "deployment", namespaced: true, categories: ["all"] },
    shortNames: ["deploy"],
  })
})

test.each([
  [403, exitCodes.notPermitted, 'User "anna" cannot get resource "services/proxy" in API group ""', "may not get"],
  [404, exitCodes.failed, 'services "kubereel" not found', "there is no Service kubereel/kubereel"],
])("a refusal %i of the API server ends what is followed through it", async (code, exitCode, message, said) => {
  await using api = await startServiceProxy({
    upstream: await recorder.listening(),
    instead: (request, response) => {
      const isRefused = request.url?.includes("/proxy/v1/events") === true
      if (isRefused) status(response, code, "Refused", message)
      return isRefused
    },
  })
  const kubeconfig = place.write("proxied", kubeconfigOf(`http://127.0.0.1:${api.port}`))
  const words = ["--follow", "--in-cluster", "kubereel/kubereel", "--kubeconfig", kubeconfig]
  const ended = await ran(eventsCommand(), words)
  expect([ended.code, ended.error]).toEqual([exitCode, expect.stringContaining(said)])
  expect(ended.error).not.toContain("trying again")
})
