/** Hooks of the controller: real processes, whose traces are in a file. */
import { appendFileSync, existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { systemClock } from "../../../src/clock.ts"
import type { ControllerCluster } from "../../../src/host/index.ts"
import type { ApiObject } from "../../../src/kube/index.ts"
import type { Hook, Simulation } from "../../../src/simulation/api/simulation.ts"
import { HookRuns } from "../../../src/simulation/controller/hook-runs.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { manifest, SimulatedCluster } from "./simulated.ts"

/** Hooks that write a word each time they run. */
const notebook = () => {
  const file = join(temporaryDirectory(), "words")
  appendFileSync(file, "")
  return {
    words: (): ReadonlyArray<string> => readFileSync(file, "utf8").split("\n").slice(0, -1),
    says: (word: string, script = "", rest: Partial<Hook> = {}): Hook => ({
      cmd: "/bin/sh",
      args: ["-c", `echo ${word} >> ${file}; ${script}`],
      // The clock of the test runs much faster than processes do.
      timeout: "1000h",
      ...rest,
    }),
  }
}

test("hooks run once before and once after, however often the controller looks (W-52)", async () => {
  const { words, says } = notebook()
  const cluster = await SimulatedCluster.start()
  const first = await cluster.control()
  const hooks = { preStartHooks: [says("one"), says("two", "echo done")], postStopHooks: [says("after")] }
  await cluster.create("demo", { hooks })
  await cluster.until(() => cluster.status("demo").state === "Running")
  expect(words()).toEqual(["one", "two"])
  await cluster.closes(first)
  await cluster.control()
  await cluster.living.passes(15_000)
  await cluster.play("demo")
  await cluster.settles("demo")
  await cluster.living.passes(15_000)
  expect(words()).toEqual(["one", "two", "after"])
  expect(cluster.status("demo").hooks).toMatchObject([
    { phase: "preStart", index: 0, exitCode: 0 },
    { phase: "preStart", index: 1, exitCode: 0, output: "done\n" },
    { phase: "postStop", index: 0, exitCode: 0 },
  ])
  await cluster.until(async () => (await cluster.events("demo")).length === 4)
  expect(await cluster.events("demo")).toEqual([
    "sk-ctrl SimulationStarted NewSimulationResourceCreated",
    "sk-ctrl PreStartHooksSucceeded PreStartHookExecuted",
    "sk-ctrl SuccessfulDriverCreate SimulationPrerequisitesCreated",
    "sk-ctrl PostStopHooksSucceeded PostStopHookExecuted",
  ])
})

test("the Lease is kept until the hooks after the end have run", async () => {
  const { says } = notebook()
  const gate = join(temporaryDirectory(), "gate")
  const cluster = await SimulatedCluster.controlled()
  const waits = says("waits", `while [ ! -e ${gate} ]; do sleep 0.01; done`, { timeout: "1000h" })
  await cluster.create("first", { hooks: { postStopHooks: [waits] } })
  await cluster.create("second")
  await cluster.play("first")
  await cluster.until(() => cluster.status("first").hooks?.length === 1)
  await cluster.living.passes(5000)
  expect(cluster.status("second").state).toBe("Blocked")
  appendFileSync(gate, "")
  await cluster.until(() => cluster.status("second").state === "Running")
})

test.each<[string, Partial<Hook>, string]>([
  ["ends the simulation", {}, "Failed"],
  ["may be ignored", { ignoreFailure: true }, "Running"],
])("a hook that fails %s", async (_, rest, state) => {
  const { words, says } = notebook()
  const cluster = await SimulatedCluster.controlled()
  const hooks = {
    preStartHooks: [says("bad", "echo no such cluster; exit 4", rest), says("next")],
    postStopHooks: [says("after")],
  }
  await cluster.create("demo", { hooks })
  await cluster.until(() => cluster.status("demo").state === state)
  if (state === "Running") return expect(words()).toEqual(["bad", "next"])
  await cluster.settles("demo", "Failed")
  expect(words()).toEqual(["bad", "after"])
  expect(cluster.condition("demo", "Ready")).toBe("False PreStartHookFailed")
  expect(cluster.message("demo", "Ready")).toContain(
    "failed: it ended with exit code 4; the end of its output: no such cluster",
  )
  expect(cluster.job("demo")).toBeUndefined()
  expect(await cluster.left()).toEqual(["Simulation demo"])
})

test("a hook after the end that fails leaves the simulation Finished, and says so", async () => {
  const { says } = notebook()
  const cluster = await SimulatedCluster.simulating("demo", { hooks: { postStopHooks: [says("bad", "exit 5")] } })
  await cluster.play("demo")
  await cluster.settles("demo")
  expect(cluster.condition("demo", "Degraded")).toBe("True PostStopHookFailed")
  expect(cluster.condition("demo", "Ready")).toBe("True Finished")
})

test("a hook that takes longer than its time is ended, and has failed", async () => {
  const { says } = notebook()
  const cluster = await SimulatedCluster.simulating("demo", {
    hooks: { preStartHooks: [says("slow", "exec sleep 100000", { timeout: "2s" })] },
  })
  await cluster.settles("demo", "Failed")
  expect(cluster.message("demo", "Ready")).toContain("it took longer than 2s and was ended")
})

test("a hook whose controller died is not run again: it was interrupted", async () => {
  const { words, says } = notebook()
  const cluster = await SimulatedCluster.start()
  const first = await cluster.control({ shutdownTimeoutMs: 0 })
  await cluster.create("demo", { hooks: { preStartHooks: [says("slow", "exec sleep 100000", { timeout: "1000h" })] } })
  await cluster.until(() => words().length === 1)
  // From now on nothing of it reaches the server.
  cluster.living.sandbox.faults.stall("simulations")
  await cluster.closes(first)
  cluster.living.sandbox.faults.clear()
  await cluster.control()
  await cluster.settles("demo", "Failed")
  expect(words()).toEqual(["slow"])
  expect(cluster.status("demo").hooks).toMatchObject([{ phase: "preStart", message: "it was interrupted" }])
})

test("a controller that is told to end lets its hooks end", async () => {
  const { words, says } = notebook()
  const cluster = await SimulatedCluster.start()
  const first = await cluster.control({ shutdownTimeoutMs: 1e9 })
  await cluster.create("demo", { hooks: { preStartHooks: [says("slow", "sleep 0.2"), says("next")] } })
  await cluster.until(() => words().length === 1)
  await cluster.closes(first)
  expect(cluster.status("demo").hooks?.every(({ exitCode }) => exitCode === 0)).toBe(true)
  await cluster.control()
  await cluster.until(() => cluster.status("demo").state === "Running")
  expect(words()).toEqual(["slow", "next"])
})

test("a hook that asks for it gets the Simulation", async () => {
  const file = join(temporaryDirectory(), "simulation")
  const cluster = await SimulatedCluster.controlled()
  const hook = { cmd: "/bin/sh", args: ["-c", `cat > ${file}.part; mv ${file}.part ${file}`], sendSim: true }
  await cluster.create("demo", { hooks: { preStartHooks: [hook] } })
  await cluster.until(() => existsSync(file))
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({
    apiVersion: "simkube.io/v1",
    kind: "Simulation",
    metadata: { name: "demo" },
  })
})

test("hooks whose runs the API server does not keep are not run; that is said, and tried again with a pause", async () => {
  const { words, says } = notebook()
  const cluster = await SimulatedCluster.start({ withDefinitions: false })
  // SimKube's own definition, applied again, prunes what it does not know.
  await cluster.install((definition) => {
    const copy = structuredClone(definition) as unknown as ApiObject & {
      readonly spec: { readonly versions: ReadonlyArray<{ readonly schema: { readonly openAPIV3Schema: Schema } }> }
    }
    const status = copy.spec.versions[0]?.schema.openAPIV3Schema.properties?.status
    expect(status?.properties).toHaveProperty("hooks")
    delete status?.properties?.hooks
    return copy
  })
  await cluster.control()
  await cluster.create("demo", { hooks: { preStartHooks: [says("one")] } })
  await cluster.until(() => cluster.condition("demo", "Degraded") === "True HooksNotRecorded")
  expect(cluster.message("demo", "Degraded")).toContain("reel crd | kubectl apply -f -")
  await cluster.living.passes(60_000)
  // Of a minute: every 5 s, not as often as the machine can.
  expect(cluster.troubles.filter((each) => each.startsWith("demo: the preStart hooks")).length).toBeLessThan(20)
  expect(cluster.job("demo")).toBeUndefined()
  expect(words()).toEqual([])
})

test("the end of a hook is not written into another Simulation that has got the name meanwhile", async () => {
  const hooks: ReadonlyArray<Hook> = [{ cmd: "echo", args: ["begun"] }]
  const named = (uid: string): Simulation =>
    ({ ...manifest("demo", { hooks: { preStartHooks: hooks } }), metadata: { name: "demo", uid } }) as never
  let stored = named("first")
  const cluster = {
    signal: new AbortController().signal,
    now: () => new Date().toISOString(),
    getLive: async () => stored,
    patch: async (_: Simulation, __: string, patch: object) => {
      stored = { ...stored, ...patch, metadata: stored.metadata }
      return stored
    },
  } as unknown as ControllerCluster
  const troubles: string[] = []
  await new Promise<string>((onEnd) => {
    const runs = new HookRuns({
      environment: { PATH: process.env.PATH },
      clock: systemClock,
      onOutput: () => {
        expect(stored.status?.hooks).toMatchObject([{ phase: "preStart", index: 0 }])
        stored = named("second")
      },
      onEnd,
      onTrouble: (detail) => troubles.push(detail),
    })
    runs.start({ simulation: stored, phase: "preStart", hooks, cluster, announce: () => undefined })
  })
  expect(stored).toEqual(named("second"))
  expect(troubles).toEqual(["demo: the preStart hooks could not be recorded: another Simulation has the name demo now"])
})

interface Schema {
  readonly properties?: Record<string, Schema>
}
