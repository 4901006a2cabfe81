/** `reel run --sandbox`: control plane, controller and driver in one process, with real HTTP, TLS and files. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { runCommand } from "../../src/cli/run.ts"
import { ndjsonEncoder } from "../../src/trace/formats/ndjson/ndjson-writer.ts"
import { eventually } from "../harness/eventually.ts"
import { capturedTerminal } from "./captured-terminal.ts"

let folder = ""
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reel-run-"))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const start = 1_763_700_000_000_000

/** A Deployment at the start that is scaled after 200 ms, and a ConfigMap after 300 ms, in a window of `ms`. */
const trace = (ms = 500): string => {
  const encoder = ndjsonEncoder()
  const kinds = ["apps/v1.Deployment", "v1.ConfigMap"] as const
  encoder.add({ type: "header", window: { start, end: start + ms * 1000 }, cut: 3, kinds: [...kinds], incomplete: [] })
  const add = (sequence: number, at: number, gvk: (typeof kinds)[number], name: string, body: object): void => {
    const [apiVersion, kind] = gvk === "v1.ConfigMap" ? ["v1", "ConfigMap"] : ["apps/v1", "Deployment"]
    encoder.add({
      type: "event",
      isSnapshot: at < 0,
      event: {
        ...{ type: "object", sequence, time: start + at * 1000, resourceVersion: String(sequence), gvk },
        ...{ action: "applied", uid: name, namespace: "shop", name },
        object: Buffer.from(JSON.stringify({ apiVersion, kind, metadata: { namespace: "shop", name }, ...body })),
      },
    })
  }
  const labels = { app: "web" }
  const template = { metadata: { labels }, spec: { containers: [{ name: "web", image: "web:1" }] } }
  const deployment = (replicas: number): object => ({ spec: { replicas, selector: { matchLabels: labels }, template } })
  add(1, -10, "apps/v1.Deployment", "web", deployment(1))
  add(2, 200, "apps/v1.Deployment", "web", deployment(3))
  add(3, 300, "v1.ConfigMap", "settings", { data: { a: "b" } })
  const path = join(folder, `${ms}.ndjson`)
  writeFileSync(path, Buffer.concat([...encoder.finish()]))
  return path
}

const run = (...argv: string[]) => {
  const terminal = capturedTerminal({ environment: { PATH: process.env.PATH ?? "" } })
  const settle = "--driver-arg=--settle=1500ms"
  return { terminal, code: runCommand().run(["look", "--sandbox", settle, ...argv], terminal) }
}

test("a look at a simulation with two repetitions and hooks takes no cluster, and leaves nothing behind", async () => {
  const before = readdirSync(tmpdir()).filter((name) => name.startsWith("kubereel-"))
  const hooks = join(folder, "hooks.yml")
  const log = join(folder, "log")
  const line = (phase: string): string =>
    `{cmd: sh, args: [-c, 'cat > ${folder}/simulation.json; echo ${phase} >> ${log}'], sendSim: true}`
  writeFileSync(
    hooks,
    ["preStart", "preRun", "postRun", "postStop"].map((phase) => `${phase}Hooks: [${line(phase)}]\n`).join(""),
  )
  const { terminal, code } = run("-f", trace(), "-N", "2", "--speed", "2", "--hooks", hooks)
  const ended = await code
  expect(terminal.standardError.text()).toContain("reel run: Running")
  expect(terminal.standardOutput.text().split("\n")).toEqual([
    expect.stringMatching(/^Finished {3}2 complete repetitions, \d/),
    expect.stringMatching(/^run 1 {6}2 objects, 100.0 % as recorded, 0 writes refused, p99 \d/),
    expect.stringMatching(/^run 2 {6}2 objects, 100.0 % as recorded, 0 writes refused, p99 \d/),
    "",
  ])
  expect(ended).toBe(exitCodes.ok)
  expect(readFileSync(log, "utf8").trim().split("\n")).toEqual([
    "preStart",
    "preRun",
    "postRun",
    "preRun",
    "postRun",
    "postStop",
  ])
  expect(JSON.parse(readFileSync(join(folder, "simulation.json"), "utf8"))).toMatchObject({
    metadata: { name: "look" },
  })
  expect(terminal.listeners()).toBe(0)
  expect(readdirSync(tmpdir()).filter((name) => name.startsWith("kubereel-"))).toEqual(before)
}, 40_000)

test("a trace that does not exist fails the simulation with a reason that says what to change", async () => {
  const { terminal, code } = run("-f", join(folder, "missing.sktrace"))
  expect(await code).toBe(exitCodes.failed)
  expect(terminal.standardOutput.text()).toContain("missing.sktrace")
  expect(terminal.standardOutput.text()).toMatch(/^reason {5}.*tracePath/m)
}, 30_000)

test("Ctrl-C ends everything at once, and nothing goes on", async () => {
  const { terminal, code } = run("-f", trace(600_000), "--driver-verbosity", "debug")
  await eventually(() => expect(terminal.standardError.text()).toContain("reel run: replaying "))
  terminal.interrupt()
  expect(await code).toBe(exitCodes.interrupted)
  expect(terminal.standardError.text()).toContain("reel run: interrupted\n")
}, 30_000)

test.each([
  [["--kubeconfig", "a"], "--sandbox excludes --kubeconfig and --context"],
  [["--driver-secrets", "a"], "--sandbox excludes --driver-secrets"],
  [["--start-paused"], "--sandbox excludes --start-paused"],
])("%s is refused", async (argv, problem) => {
  const { terminal, code } = run(...argv)
  expect(await code).toBe(exitCodes.usage)
  expect(terminal.standardError.text()).toContain(problem)
})
