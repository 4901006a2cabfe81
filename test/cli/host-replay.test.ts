/** `reel host --replay` as users run it: modules and scripts of a directory on recorded history, without a cluster. */
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { recordTrace } from "../../src/archive/index.ts"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { hostCommand } from "../../src/cli/host.ts"
import { openTraceFile, openTraceItems } from "../../src/trace/index.ts"
import { toolchains } from "../examples/host/toolchains.ts"
import { streamOf } from "../facts/made-facts.ts"
import { patient } from "../harness/patience.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { buildOddGuest } from "../host/dispatcher/odd-guests.ts"
import { ran } from "./commands-in.ts"

const outage = join(import.meta.dirname, "../../examples/host/typescript/outage.ndjson")
const built = mkdtempSync(join(tmpdir(), "kubereel-host-replay-"))
const guest = join(built, "simplepod.wasm")
beforeAll(() => {
  const assemblyScript = toolchains.find(({ language }) => language === "assemblyscript")
  assemblyScript?.build(guest)
}, patient(60_000))
afterAll(() => rmSync(built, { recursive: true, force: true }))

let modules: string
beforeEach(() => {
  modules = temporaryDirectory()
})
const write = (name: string, text: string): void => writeFileSync(join(modules, name), text)

/** A file of expectations that has nothing compared. */
const notRecorded = (): string => {
  write("not-recorded.yaml.txt", "recorded: ignore\n")
  return join(modules, "not-recorded.yaml.txt")
}

const run = (...more: ReadonlyArray<string>) =>
  ran(
    hostCommand(() => import("../../src/cli/host-replay.ts")),
    [modules, ...more],
  )

/** A controller without the library: what defineController returns is a plain record. */
const script = (reconcile: string): string => `
export default {
  name: "script", for: { kind: "slinky.dev/v1.SimplePod" }, owns: [], watches: [], reads: [], indexes: [], writes: [], concurrency: 1,
  reconcile: ${reconcile},
}
`
const labels = script(`async ({ object, cluster }) => {
  if (object !== undefined && object.metadata.labels?.seen !== "yes")
    await cluster.patch(object, "merge", { metadata: { labels: { seen: "yes" } } })
}`)

describe("reel host --replay", () => {
  test("reads a stream in a directory as it reads the recording that the stream is of", async () => {
    write("labels.js", labels)
    write("labels.yaml", "name: labels\n")
    const items = (
      await openTraceItems(await openTraceFile(outage), {
        ...{ inputName: outage, from: undefined, signal: new AbortController().signal },
      })
    ).items
    const recording = temporaryDirectory()
    await recordTrace(recording, items)
    const stream = await streamOf(recording)
    const [expected, found] = [await run("--replay", recording), await run("--replay", stream)]
    expect(expected.output).toContain("changes fed")
    expect(found).toEqual(expected)
    expect((await run("--replay", temporaryDirectory())).error).toContain("it is a directory, but it is empty")
  })

  test(
    "runs WebAssembly modules and scripts, prints what each did, and writes the same journal each time",
    async () => {
      copyFileSync(guest, join(modules, "simplepod.wasm"))
      write("simplepod.yaml", 'name: simplepod\nabi: rust_v1alpha1\nenv:\n  - name: NAMESPACE\n    value: ""\n')
      write("labels.js", labels)
      write("labels.yaml", "name: labels\n")
      // The guest knows its pods by a label.
      const labelled = join(modules, "labelled.ndjson")
      const label = '"labels":{"app.kubernetes.io/managed-by":"simplepods.slinky.dev"},"ownerReferences":['
      writeFileSync(labelled, readFileSync(outage, "utf8").replaceAll('"ownerReferences":[', label))
      const journals: string[] = []
      for (const name of ["first", "second"]) {
        const journal = join(modules, `${name}.ndjson`)
        const { code, output, error } = await run(
          ...["--replay", labelled, "--settle", "2m", "--journal", journal],
          // Only the trace knows the first of them.
          ...["--makes", "simplepods=pod"],
          // The recorded controller did not label anything.
          ...["--expect", notRecorded()],
        )
        expect(error).toBe("")
        expect(output).toMatch(
          /^2026-01-01T00:00:00\.000000Z to 2026-01-01T00:05:00\.000000Z: 4 changes fed, 2 left out$/m,
        )
        expect(output).toMatch(/^simplepod +\d+ +0 +.*v1\.Pod deleted \d.*v1\.Pod created \d/m)
        expect(output).toMatch(/^script +\d+ +0 +slinky\.dev\/v1\.SimplePod patched 3$/m)
        expect(code).toBe(exitCodes.ok)
        journals.push(readFileSync(journal, "utf8"))
      }
      expect(journals[1]).toBe(journals[0])
      const steps = (journals[0] ?? "").trimEnd().split("\n")
      const created = steps.filter((line) => /"controller":"simplepod","verb":"create","kind":"v1.Pod"/.test(line))
      expect(created.length).toBeGreaterThan(0)
      expect(JSON.parse(steps[0] ?? "")).toMatchObject({
        time: "2026-01-01T00:00:00.000000Z",
        cause: { type: "start" },
      })
    },
    patient(30_000),
  )

  test(
    "fails for a module that traps, a refused one, and an object whose last run failed, and says so",
    async () => {
      write(
        "broken.js",
        script(`async ({ object }) => { if (object?.metadata.name === "api") throw new Error("not api") }`),
      )
      write("broken.yaml", "name: broken\n")
      write("nameless.yaml", "abi: rust_v1alpha1\nlimit: {}\n")
      write("nameless.wasm", "")
      const first = await run("--replay", outage)
      expect(first.code).toBe(exitCodes.failed)
      expect(first.error).toMatch(/^reel host: \S*nameless\.yaml:1:1: .*name/m)
      expect(first.error).toMatch(/^reel host: \S*nameless\.yaml:2:1: unknown key "limit"/m)
      expect(first.error).toMatch(/script: script shop\/api: Error: not api/)
      expect(first.output).toMatch(/^the last run failed: script shop\/api$/m)

      rmSync(join(modules, "broken.yaml"))
      rmSync(join(modules, "nameless.yaml"))
      rmSync(join(modules, "nameless.wasm"))
      copyFileSync(buildOddGuest(built, "shop"), join(modules, "odd.wasm"))
      write("odd.yaml", "name: odd\nabi: rust_v1alpha1\n")
      const calm = await run("--replay", outage)
      expect(calm.output).toMatch(/^odd +\d+ +0 +none$/m)
      expect(calm.code).toBe(exitCodes.ok)
      const trap = join(modules, "trap.ndjson")
      const configMap = (name: string) => ({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { namespace: "shop", name },
      })
      const event = (sequence: number, name: string) =>
        JSON.stringify({
          ...{ sequence, time: 1_767_225_600_000_000 + sequence, action: "applied", gvk: "v1.ConfigMap", uid: name },
          ...{ namespace: "shop", name, resourceVersion: String(sequence), object: configMap(name) },
        })
      const head = {
        format: "kubereel",
        version: 1,
        window: { start: 1_767_225_600_000_000, end: 1_767_225_600_000_009 },
      }
      const header = JSON.stringify({ ...head, cut: 1, kinds: ["v1.ConfigMap"], incomplete: [] })
      writeFileSync(
        trap,
        `${[header, event(1, "calm"), event(2, "trap"), event(3, "after"), JSON.stringify({ end: { snapshot: 0, events: 3, gaps: 0 } })].join("\n")}\n`,
      )
      const { code, output, error } = await run("--replay", trap)
      expect(output).toContain("odd: ADDED calm 1\n")
      expect(output).not.toContain("after")
      expect(error).toMatch(/odd: module odd failed in wakeup_stream/)
      expect(output).toMatch(/^odd has ended: /m)
      expect(code).toBe(exitCodes.failed)
    },
    patient(30_000),
  )

  test("leaves out the objects that modules make, by the owner that each --makes names", async () => {
    copyFileSync(buildOddGuest(built, "shop"), join(modules, "odd.wasm"))
    write("odd.yaml", "name: odd\nabi: rust_v1alpha1\n")
    const start = 1_767_225_600_000_000
    const events = [
      { kind: "Pod", name: "a" },
      { kind: "ConfigMap", name: "b" },
      { kind: "Secret", name: "of-pod", owner: "Pod" },
      { kind: "Secret", name: "of-map", owner: "ConfigMap" },
      { kind: "Service", name: "of-pod", owner: "Pod" },
      { kind: "Service", name: "of-map", owner: "ConfigMap" },
    ].map(({ kind, name, owner }, index) => {
      const ownerReferences = owner && [
        { apiVersion: "v1", kind: owner, name: "owner", uid: "owner", controller: true },
      ]
      const metadata = { namespace: "shop", name, ...(ownerReferences && { ownerReferences }) }
      const about = { gvk: `v1.${kind}`, uid: `${kind}-${name}`, namespace: "shop", name }
      const object = { apiVersion: "v1", kind, metadata }
      const sequence = index + 1
      const event = { sequence, time: start + sequence, action: "applied", ...about }
      return { ...event, resourceVersion: String(sequence), object }
    })
    const kinds = [...new Set(events.map(({ gvk }) => gvk))]
    const window = { start, end: start + 100 }
    const header = { format: "kubereel", version: 1, window, cut: events.length, kinds, incomplete: [] }
    const lines = [header, ...events, { end: { snapshot: 0, events: events.length, gaps: 0 } }]
    const trace = join(modules, "owners.ndjson")
    writeFileSync(trace, lines.map((line) => `${JSON.stringify(line)}\n`).join(""))
    const leftOut = async (name: string, ...makes: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
      const journal = join(modules, name)
      const options = makes.flatMap((each) => ["--makes", each])
      const { code, error } = await run("--replay", trace, "--journal", journal, "--expect", notRecorded(), ...options)
      expect([code, error]).toEqual([exitCodes.ok, ""])
      const causes = readFileSync(journal, "utf8")
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line).cause)
      return causes.filter(({ fedAs }) => fedAs === "left-out").map((cause) => `${cause.kind} ${cause.name}`)
    }
    expect(await leftOut("none")).toEqual([])
    expect(await leftOut("both", "v1.Pod=v1.Secret", "v1.ConfigMap=v1.Service")).toEqual([
      "v1.Secret of-pod",
      "v1.Service of-map",
    ])
    expect(await leftOut("called", "pod=secrets", "cm=svc")).toEqual(["v1.Secret of-pod", "v1.Service of-map"])
  })

  test("refuses what does not fit together, before it does anything", async () => {
    write("labels.js", labels)
    write("labels.yaml", "name: labels\n")
    const wrong = async (...more: ReadonlyArray<string>): Promise<string> => {
      const { code, error } = await run(...more)
      expect(code).toBe(exitCodes.usage)
      return error
    }
    expect(await wrong("--replay", outage, "--kubeconfig", "x")).toMatch(/--replay excludes --kubeconfig/)
    expect(await wrong("--journal", "x")).toMatch(/--journal needs --replay/)
    expect(await wrong("--speed", "3")).toMatch(/--speed needs --replay/)
    expect(await wrong("--expect", "x")).toMatch(/--expect needs --replay/)
    expect(await wrong("-o", "json")).toMatch(/--output needs --replay/)
    write("bad.txt", "invariants: [{ kind: v1.Pod, always: spec.replicas < }]\n")
    expect(await wrong("--replay", outage, "--expect", join(modules, "bad.txt"))).toMatch(
      /bad\.txt: "spec\.replicas <" is no condition: line 1, column 16: the condition is incomplete/,
    )
    write("bad.txt", "objects: [{ kind: v1.Pod }]\n")
    expect(await wrong("--replay", outage, "--expect", join(modules, "bad.txt"))).toMatch(/bad\.txt: .*name/s)
    expect(await wrong("--replay", outage, "--makes", "Pod")).toMatch(/must be OWNER=KIND/)
    expect(await wrong("--replay", outage, "--makes", "pod=servces")).toMatch(
      /unknown kind "servces"; did you mean v1\.Service\?/,
    )
    expect(await wrong("--replay", outage, "--latency", "soon")).toMatch(/must be a duration/)
    expect(await wrong("--replay", outage, "--journal", join(modules, "labels.js"))).toMatch(
      /cannot write the journal .*EEXIST/,
    )
    const failed = async (...more: ReadonlyArray<string>): Promise<string> => {
      const { code, error } = await run(...more)
      expect(code).toBe(exitCodes.failed)
      return error
    }
    expect(await failed("--replay", join(modules, "none"))).toMatch(/cannot read .*none: file not found/)
    expect(await failed("--replay", outage, "--from", "2030-01-01T00:00:00Z")).toMatch(/must overlap it/)
    write("labels.js", labels.replace("slinky.dev/v1.SimplePod", "v1.Service"))
    expect(await failed("--replay", outage)).toMatch(/script is for v1\.Service, of which the trace has nothing/)
    rmSync(join(modules, "labels.yaml"))
    expect(await failed("--replay", outage)).toMatch(/there is no module to replay into/)
    expect(existsSync(join(modules, "x"))).toBe(false)
  })
})
