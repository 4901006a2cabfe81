/** `reel controller` as users run it: on a sandbox, over real HTTP, with hooks that are real processes. */
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { controllerCommand } from "../../src/cli/controller.ts"
import { type ApiObject, kinds } from "../../src/kube/index.ts"
import { LocalCluster, writeKubeconfig } from "../../src/sandbox/index.ts"
import { OutputLines, type Simulation, simulationDefinitions, simulationKind } from "../../src/simulation/index.ts"
import { eventually } from "../harness/eventually.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { definitions, manifest } from "../simulation/controller/simulated.ts"
import { type CapturedTerminal, capturedTerminal } from "./captured-terminal.ts"

let cluster: LocalCluster
let terminal: CapturedTerminal
beforeEach(async () => {
  cluster = await LocalCluster.start({ nodes: 1 })
  terminal = capturedTerminal({ environment: { PATH: process.env.PATH ?? "", CTRL_NAMESPACE: "kubereel" } })
})
afterEach(() => cluster.close())

const start = async (...more: ReadonlyArray<string>): Promise<number> => {
  const kubeconfig = join(temporaryDirectory(), "kubeconfig")
  await writeKubeconfig(kubeconfig, cluster.sandbox.url)
  return controllerCommand().run(["--kubeconfig", kubeconfig, "--listen", "0", ...more], terminal)
}

const served = async (path: string): Promise<{ readonly code: number; readonly body: string }> => {
  const [, url] = await eventually(() => {
    const match = terminal.standardError.text().match(/metrics: (http\S+)\/metrics/)
    if (match === null) throw new Error(terminal.standardError.text())
    return match
  })
  const response = await fetch(`${url}${path}`)
  return { code: response.status, body: await response.text() }
}

const install = async (): Promise<void> => {
  for (const definition of simulationDefinitions()) await cluster.client.create(definitions, definition as ApiObject)
}

test("it is not ready before the definitions are there, then runs a simulation, and hands over at the end", async () => {
  await cluster.client.create(kinds.namespaces, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "kubereel" },
  })
  const ended = start()
  expect((await served("/healthz")).code).toBe(200)
  expect(await served("/readyz")).toMatchObject({ code: 503, body: expect.stringContaining("definitions") })
  await install()
  await eventually(async () => expect(await served("/readyz")).toEqual({ code: 200, body: "ok\n" }))
  const hook = { cmd: "sh", args: ["-c", "echo one; echo two"] }
  await cluster.client.create(simulationKind, manifest("demo", { hooks: { preStartHooks: [hook] } }))
  await eventually(async () => {
    const { status } = await cluster.client.get<Simulation>(simulationKind, { name: "demo" })
    expect(status?.state).toBe("Running")
  })
  expect(terminal.standardOutput.text()).toBe("demo: one\ndemo: two\n")
  expect((await served("/metrics")).body).toContain("kubereel_simulation_controller_leader 1\n")
  terminal.interrupt()
  expect(await ended).toBe(exitCodes.ok)
  const election = await cluster.client.get(kinds.leases, {
    namespace: "kubereel",
    name: "kubereel-simulation-controller",
  })
  expect(election.spec).toMatchObject({ holderIdentity: "" })
})

test("with less verbosity what hooks print is left out", async () => {
  await install()
  const ended = start("--verbosity", "warn", "--namespace", "default")
  const hook = { cmd: "echo", args: ["one"] }
  await cluster.client.create(simulationKind, manifest("demo", { hooks: { preStartHooks: [hook] } }))
  await eventually(async () => {
    const { status } = await cluster.client.get<Simulation>(simulationKind, { name: "demo" })
    expect(status?.state).toBe("Running")
  })
  expect(terminal.standardOutput.text()).toBe("")
  terminal.interrupt()
  expect(await ended).toBe(exitCodes.ok)
})

test.each([
  ["--verbosity", "loud", "must be one of off, error, warn, info, debug, trace"],
  ["--namespace", "Not A Name", "a lowercase RFC 1123 label"],
])("%s %s is refused", async (option, given, why) => {
  expect(await start(option, given)).toBe(exitCodes.usage)
  expect(terminal.standardError.text()).toContain(why)
})

test("lines of two hooks that write at the same time are not mixed, and characters are not cut", () => {
  const printed: string[] = []
  const lines = new OutputLines((source, line) => void printed.push(`${source} ${line}`))
  const accent = Buffer.from("é")
  lines.add("a", Buffer.concat([Buffer.from("on"), accent.subarray(0, 1)]))
  lines.add("b", Buffer.from("three\nfour"))
  lines.add("a", Buffer.concat([accent.subarray(1), Buffer.from("\ntwo\n")]))
  lines.end()
  expect(printed).toEqual(["b three", "a oné", "a two", "b four"])
})
