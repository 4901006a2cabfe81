/** `reel replay`: what it prints and writes, its exit codes, and what it does with bad input. */
import { once } from "node:events"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { replayCommand } from "../../src/cli/replay.ts"
import type { Pod } from "../../src/kube/index.ts"
import { kubeconfigOf, LocalCluster } from "../../src/sandbox/index.ts"
import type { ReplayReport } from "../../src/simulation/index.ts"
import type { TraceItem } from "../../src/trace/index.ts"
import { patient } from "../harness/patience.ts"
import { configMap, event, header, ndjsonOf } from "../simulation/trace-items.ts"
import { capturedTerminal } from "./captured-terminal.ts"

let folder = ""
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reel-replay-"))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const path = (name: string): string => join(folder, name)

/** One object at the start, two changes within 300 ms. */
const trace = (): string =>
  ndjsonOf([
    header(300, { kinds: ["v1.ConfigMap"] }),
    configMap(-10, "a", "1"),
    configMap(50, "a", "2"),
    configMap(100, "b", "1"),
  ])

/** A pod that started 500 ms after it was scheduled. */
const traceWithPod = (): string => {
  const conditions = [{ type: "PodScheduled", status: "True" }]
  const pod = (ms: number, status: object): TraceItem =>
    event(ms, "v1.Pod", "p", { spec: { containers: [{ name: "main", image: "main:1" }] }, status }, { uid: "u" })
  return ndjsonOf([
    header(700, { kinds: ["v1.Pod"] }),
    pod(10, {}),
    pod(50, { phase: "Pending", conditions }),
    pod(550, { phase: "Running", conditions }),
  ])
}

/** A state of each object, in the order of the trace; `isAtStart`: it existed before. */
const traceOf = (objects: ReadonlyArray<readonly [gvk: string, object: object, isAtStart?: boolean]>): string =>
  ndjsonOf([
    header(300, { kinds: [...new Set(objects.map(([gvk]) => gvk))] }),
    ...objects.map(([gvk, object, isAtStart = false], index) => {
      const { namespace = "", name } = (object as { metadata: { namespace?: string; name: string } }).metadata
      return event(isAtStart ? -100 : index + 1, gvk, name, object, { namespace })
    }),
  ])

const replay = async (...argv: ReadonlyArray<string>) => {
  const terminal = capturedTerminal()
  const code = await replayCommand().run(argv, terminal)
  return { code, output: terminal.standardOutput.text(), error: terminal.standardError.text() }
}

describe("a replay into a sandbox", { timeout: patient(30_000) }, () => {
  test("serves custom kinds that the trace does not define, as a rehearsal does, and says the same with --dry-run", async () => {
    const widget = (name: string, version = "v1") => ({
      apiVersion: `example.com/${version}`,
      kind: "Policy",
      metadata: { namespace: "shop", name },
      spec: { anything: [{ goes: true }] },
    })
    const zone = { apiVersion: "example.com/v1", kind: "Zone", metadata: { name: "north" }, spec: { size: 1 } }
    writeFileSync(
      path("trace.ndjson"),
      traceOf([
        ["example.com/v1.Policy", widget("one"), true],
        ["example.com/v1.Policy", widget("two")],
        ["example.com/v1beta1.Policy", widget("three", "v1beta1")],
        ["example.com/v1.Zone", zone],
      ]),
    )
    const { code, output, error } = await replay(path("trace.ndjson"), "--speed", "max", "--report", path("r.json"))
    expect(output).toContain("1 accepted, 0 refused, 0 skipped")
    expect(output).toContain("3 events: 3 accepted, 0 refused, 0 skipped")
    expect([code, error]).toEqual([0, expect.stringContaining("into a sandbox")])
    expect(JSON.parse(readFileSync(path("r.json"), "utf8")).fidelity.objects).toMatchObject({ total: 4, equal: 4 })
    expect(await replay(path("trace.ndjson"), "--dry-run")).toMatchObject({ code: 0, error: "" })
  })

  test("leaves addresses of Services to the cluster, as it does EndpointSlices, and refuses none", async () => {
    const address = {
      apiVersion: "networking.k8s.io/v1",
      kind: "IPAddress",
      metadata: { name: "10.0.0.1", labels: { "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io" } },
      spec: { parentRef: { resource: "services", namespace: "default", name: "kubernetes" } },
    }
    writeFileSync(path("trace.ndjson"), traceOf([["networking.k8s.io/v1.IPAddress", address, true]]))
    const { code, output } = await replay(path("trace.ndjson"), "--speed", "max")
    expect([code, output]).toEqual([0, expect.stringContaining("the target's controllers write their own")])
  })

  test("prints what happened and writes the report that scripts read", async () => {
    writeFileSync(path("trace.ndjson"), trace())
    const { code, output, error } = await replay(path("trace.ndjson"), "--speed", "10", "--report", path("report.json"))
    expect(error).toMatch(
      /^reel replay: replaying .*trace\.ndjson as [0-9a-f]{6} into a sandbox with 10 virtual nodes\n$/,
    )
    expect(code).toBe(exitCodes.ok)
    expect(output).toMatch(/^seed +1 object: 1 accepted, 0 refused, 0 skipped; /)
    expect(output).toMatch(/^events +2 events: 2 accepted, 0 refused, 0 skipped$/m)
    const report = JSON.parse(readFileSync(path("report.json"), "utf8")) as ReplayReport
    expect(report).toMatchObject({
      version: 1,
      speed: 10,
      stopped: null,
      events: { total: 2, sent: 2, accepted: 2, refused: 0, skipped: 0 },
      run: { expectedMs: 30 },
    })
    expect(Object.keys(report.dispatchErrorMs)).toEqual(["p50", "p95", "p99", "max"])
  })

  test("says how close it came, in the summary, in the report and as a page, and leaves nothing else behind", async () => {
    writeFileSync(path("trace.ndjson"), trace())
    const files = ["--report", path("report.json"), "--html", path("report.html")]
    const { code, output } = await replay(path("trace.ndjson"), "--speed", "10", ...files, "--settle", "1500ms")
    expect(code).toBe(exitCodes.ok)
    expect(output).toMatch(/^fidelity +objects equal 100 % \(2 of 2\), states in order 100 % \(3 of 3\)$/m)
    expect(output).toMatch(/^observed +p50 [\d.]+ ms, /m)
    const { fidelity } = JSON.parse(readFileSync(path("report.json"), "utf8")) as ReplayReport
    expect(fidelity).toMatchObject({ score: { objectsEqual: 1, statesInOrder: 1, gapsWithin: 1 }, pods: null })
    expect(readFileSync(path("report.html"), "utf8")).toMatch(/^<!doctype html>.*Objects equal.*<\/html>\n$/s)
    expect(readdirSync(folder).toSorted()).toEqual(["report.html", "report.json", "trace.ndjson"])
  })

  test("does not record the cluster if that is not wanted, and keeps the recording if a directory is named", async () => {
    writeFileSync(path("trace.ndjson"), trace())
    const argv = [path("trace.ndjson"), "--speed", "max", "--settle", "0s"]
    await replay(...argv, "--report", path("report.json"), "--no-fidelity")
    expect(JSON.parse(readFileSync(path("report.json"), "utf8"))).not.toHaveProperty("fidelity")
    expect((await replay(...argv, "--recording", path("recording"))).code).toBe(exitCodes.ok)
    expect(readdirSync(path("recording"))).toContain("recording.db")
    const again = await replay(...argv, "--recording", path("recording"))
    expect(again).toMatchObject({ code: exitCodes.usage, output: "" })
    expect(again.error).toMatch(/recording is not empty; name a new directory with --recording\n$/)
    writeFileSync(join(folder, "file"), "")
    const nowhere = await replay(...argv, "--recording", join(folder, "file", "recording"))
    expect([nowhere.code, nowhere.output]).toEqual([exitCodes.failed, ""])
    expect(nowhere.error).toMatch(/cannot write .*recording: its directory does not exist/)
  })

  test("does not replace a report unless forced, and does nothing before it knows", async () => {
    writeFileSync(path("trace.ndjson"), trace())
    writeFileSync(path("report.json"), "mine")
    const argv = [path("trace.ndjson"), "--speed", "max", "--report", path("report.json")]
    expect(await replay(...argv)).toMatchObject({ code: exitCodes.usage, output: "" })
    expect(readFileSync(path("report.json"), "utf8")).toBe("mine")
    expect((await replay(...argv, "--force")).code).toBe(exitCodes.ok)
    expect(JSON.parse(readFileSync(path("report.json"), "utf8"))).toMatchObject({ version: 1 })
    expect(readdirSync(folder).toSorted()).toEqual(["report.json", "trace.ndjson"])
  })
})

describe("a replay into a cluster", { timeout: patient(30_000) }, () => {
  let cluster: LocalCluster
  beforeEach(async () => {
    cluster = await LocalCluster.start({ nodes: 1 })
    writeFileSync(path("kubeconfig"), kubeconfigOf(cluster.sandbox.url))
    writeFileSync(path("trace.ndjson"), trace())
  })
  afterEach(() => cluster.close())

  const namespaces = (): ReadonlyArray<string> =>
    ["kubereel-replay-mine", "virtual-shop"].filter((name) => cluster.sandbox.get("v1.Namespace", "", name))

  test("that is kept is removed by --clean, once", async () => {
    const target = ["--kubeconfig", path("kubeconfig")]
    const kept = await replay(path("trace.ndjson"), ...target, "--speed", "max", "--keep", "--name", "mine")
    expect(kept.error).toContain("what was created was left in the cluster; remove it with reel replay --clean mine")
    expect(namespaces()).toEqual(["kubereel-replay-mine", "virtual-shop"])
    const again = await replay(path("trace.ndjson"), ...target, "--keep", "--name", "mine")
    expect(again).toMatchObject({ code: exitCodes.failed, output: "" })
    expect(again.error).toContain("the target has a replay named mine")
    expect(again.error).not.toContain("was left in the cluster")
    const cleaned = await replay("--clean", "mine", ...target)
    expect(cleaned).toEqual({
      code: exitCodes.ok,
      error: "",
      output: "removed 2 labelled objects of replay mine, and what was in its namespaces\n",
    })
    expect(namespaces()).toEqual([])
    expect((await replay("--clean", "mine", ...target)).output).toMatch(/^nothing of replay mine is in http/)
  })

  test("that is a dry run prints what it would do, creates nothing, and exits with 3 if the cluster lacks something", async () => {
    const argv = [path("trace.ndjson"), "--kubeconfig", path("kubeconfig"), "--dry-run", "--speed", "10"]
    expect(await replay(...argv, "--report", path("forecast.json"))).toEqual({
      code: exitCodes.ok,
      error: "",
      output: [
        "from 2025-11-21T04:40:00Z to 2025-11-21T04:40:00.3Z: 30 ms",
        "namespaces: virtual-shop",
        "kind           at the start   applied   deleted",
        "v1.ConfigMap   1              2         0",
        "",
      ].join("\n"),
    })
    expect(JSON.parse(readFileSync(path("forecast.json"), "utf8"))).toMatchObject({
      expectedMs: 30,
      kinds: [{ gvk: "v1.ConfigMap", objects: 1, applies: 2, deletions: 0 }],
      lacking: [],
    })
    expect(namespaces()).toEqual([])
    cluster.sandbox.put("v1.Namespace", { metadata: { name: "virtual-shop" } })
    const second = await replay(...argv)
    expect(second.code).toBe(exitCodes.incomplete)
    expect(second.output).toMatch(/^lacking {2}the cluster: it has a namespace virtual-shop that does not belong/m)
  })

  test.each([
    [[], "0", "500ms"],
    [["--pods", "cluster"], undefined, undefined],
  ])("tells pods the lives of the trace, unless %j is given", async (more, number, delay) => {
    writeFileSync(path("pods.ndjson"), traceWithPod())
    const target = ["--kubeconfig", path("kubeconfig"), "--keep", "--name", "mine"]
    const { code, error } = await replay(path("pods.ndjson"), ...target, ...more)
    expect([code, error]).toEqual([exitCodes.ok, expect.not.stringContaining("live as the cluster decides")])
    const { metadata } = cluster.sandbox.get("v1.Pod", "virtual-shop", "p") as unknown as Pod
    expect(metadata.annotations?.["static.simkube.io/pod-sequence-number"]).toBe(number)
    expect(metadata.annotations?.["simkube.io/kwok-stage-create-delay"]).toBe(delay)
  })

  test("exits with 3 if the API server stops asking the webhook that tells pods their lives, and says so", async () => {
    writeFileSync(path("pods.ndjson"), traceWithPod())
    const { sandbox } = cluster
    const run = replay(path("pods.ndjson"), "--kubeconfig", path("kubeconfig"), "--name", "mine", "--speed", "0.2")
    await expect.poll(() => sandbox.get("v1.Pod", "virtual-shop", "p"), { timeout: patient(20_000) }).toBeDefined()
    sandbox.delete("admissionregistration.k8s.io/v1.MutatingWebhookConfiguration", "", "kubereel-replay-mine")
    const { code, output, error } = await run
    expect(code).toBe(exitCodes.incomplete)
    expect(output).toMatch(/^lives +1 pod got that of a recorded pod; 1 in the trace$/m)
    expect(output).toMatch(/^lives +the API server stopped asking the webhook:/m)
    expect(error).toContain("pods live as the cluster decides: the API server stopped asking the webhook")
  })

  test("exits with 3 if the cluster refused something, and names it", async () => {
    cluster.sandbox.faults.respond("configmaps", 403, { verb: "patch", times: 1 })
    const { code, output } = await replay(path("trace.ndjson"), "--kubeconfig", path("kubeconfig"), "--speed", "max")
    expect(code).toBe(exitCodes.incomplete)
    expect(output).toMatch(/^refused +1 v1\.ConfigMap: 403 /m)
    expect(namespaces()).toEqual([])
  })
})

describe("bad input is one message, and nothing is created:", () => {
  test.each([
    ["an empty trace", "", /the trace is empty/, exitCodes.failed],
    ["a foreign file", "root:x:0:0\n", /not in a known trace format/, exitCodes.failed],
    ["a truncated trace", trace().slice(0, -40), /not a readable ndjson trace: byte \d+/, exitCodes.failed],
  ])("%s", async (_, content, message, code) => {
    writeFileSync(path("trace"), content)
    const answer = await replay(path("trace"), "--report", path("report.json"))
    expect(answer).toMatchObject({ code, output: "" })
    expect(answer.error).toMatch(message)
    expect(answer.error.split("\n")).toHaveLength(2)
    expect(readdirSync(folder)).toEqual(["trace"])
  })

  test.each([
    [["--speed", "0"], /--speed "0": must be a number from 0\.01 to 1000, or max/],
    [["--speed=-1"], /--speed "-1": must be a number/],
    [["--from", "10m"], /must be a time of the trace/],
    [["--from", "200", "--to", "100"], /--from must be before --to/],
    [["--namespace-prefix", "n".repeat(31)], /at most 30 lower-case letters/],
    [["--sandbox", "--kubeconfig", "x"], /--sandbox excludes --kubeconfig/],
    [["--report", "x", "--html", "x"], /--report and --html name the same file/],
    [["--clean", "x"], /--clean takes no TRACE/],
    [["--pods", "default"], /--pods "default": must be .*recorded.*cluster/],
    [["--webhook-address", "10.0.0.7"], /must be HOST:PORT, such as 10\.0\.0\.7:9443/],
    [["--webhook-address", "a:0", "--kubeconfig", "x"], /must be HOST:PORT/],
    [["--webhook-address", "[10.0.0.7]:1", "--kubeconfig", "x"], /must be HOST:PORT/],
    [["--webhook-address", "10.0.0.7:1"], /--webhook-address is for --pods recorded in a cluster/],
    [["--webhook-address", "10.0.0.7:1", "--kubeconfig", "x", "--pods", "cluster"], /is for --pods recorded/],
  ])("%j", async (argv, message) => {
    const answer = await replay(path("trace"), ...argv)
    expect([answer.code, answer.output]).toEqual([exitCodes.usage, ""])
    expect(answer.error).toMatch(message)
  })

  test("a directory, a missing file, no file, and --clean without a cluster", async () => {
    expect((await replay(folder)).error).toMatch(/it is a directory/)
    expect((await replay(path("none"))).error).toMatch(/file not found/)
    expect((await replay()).error).toMatch(/missing argument: expected TRACE/)
    expect((await replay("--clean", "x")).error).toMatch(/--clean needs --kubeconfig or --context/)
  })
})

test.each([
  ["a replay", [], /^reel replay: interrupted: removing what was created; .*\n$/],
  ["a dry run", ["--dry-run"], /^$/],
])("%s that is interrupted while its trace is read says nothing of a file", async (_, more, said) => {
  const terminal = capturedTerminal()
  await using recorder = createServer((_request, response) => {
    response.write('{"format":"kubereel"', () => setImmediate(terminal.interrupt))
  }).listen(0, "127.0.0.1")
  await once(recorder, "listening")
  const url = `http://127.0.0.1:${(recorder.address() as AddressInfo).port}`
  const words = ["--recorder", url, "--from", "2025-11-21T04:40:00Z", ...more]
  expect(await replayCommand().run(words, terminal)).toBe(exitCodes.interrupted)
  expect([terminal.standardOutput.text(), terminal.standardError.text()]).toEqual(["", expect.stringMatching(said)])
  recorder.closeAllConnections()
})
