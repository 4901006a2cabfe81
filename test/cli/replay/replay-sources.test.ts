/** Replays of what a recorder has recorded: of its data directory, and out of the running recorder, as users run both. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { exitCodes } from "../../../src/cli/command-line/exit-codes.ts"
import { hostCommand } from "../../../src/cli/host.ts"
import { replayCommand } from "../../../src/cli/replay.ts"
import { kubeconfigOf, Sandbox } from "../../../src/sandbox/index.ts"
import { patient } from "../../harness/patience.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { everything, type RecorderProcess, Workplace } from "../../recorder/recorder/recorder-command.ts"
import { capturedTerminal } from "../captured-terminal.ts"
import { startServiceProxy } from "../service-proxy.ts"

let place: Workplace
let sandbox: Sandbox
let recorder: RecorderProcess
/** Between the state at the start and the changes, after the first of them, and after all: seconds since 1970. */
let [between, middle, after] = ["", "", ""]

const put = (name: string, value: string): void =>
  void sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name }, data: { value } })

const recorded = (count: number): Promise<void> =>
  recorder.until(
    async () => (await recorder.metric('kubereel_kind_recorded_total{kind="v1.ConfigMap"}')) === count,
    `${count} recorded changes`,
  )

const now = (): string => (Date.now() / 1000).toFixed(3)

beforeAll(async () => {
  place = new Workplace()
  sandbox = await Sandbox.start()
  put("a", "1")
  put("b", "1")
  recorder = place.record({
    cluster: { server: sandbox.url },
    kinds: { "v1.ConfigMap": "{}", "v1.Secret": "{}" },
  })
  await recorder.ready()
  await recorded(2)
  between = now()
  put("a", "2")
  await recorded(3)
  middle = now()
  put("c", "1")
  sandbox.delete("v1.ConfigMap", "shop", "b")
  await recorded(5)
  after = now()
}, patient(30_000))
afterAll(async () => {
  await place.close()
  await sandbox.close()
})

const replay = async (...argv: ReadonlyArray<string>) => {
  const terminal = capturedTerminal()
  const code = await replayCommand().run(argv, terminal)
  return { code, output: terminal.standardOutput.text(), error: terminal.standardError.text() }
}

test("a data directory is replayed from its state after the first lists, although a recorder is writing it", async () => {
  const { code, output, error } = await replay(place.path("data"), "--speed", "max")
  expect(error).toMatch(/replaying .*data as /)
  expect(output).toMatch(/^seed +2 objects: 2 accepted/)
  expect(output).toMatch(/^events +3 events: 3 accepted, 0 refused, 0 skipped$/m)
  expect(code).toBe(exitCodes.ok)
})

test("a part of a data directory begins with the state there", async () => {
  const { output } = await replay(place.path("data"), "--from", middle, "--speed", "max")
  expect(output).toMatch(/^seed +2 objects: 2 accepted/)
  expect(output).toMatch(/^events +2 events: 2 accepted/m)
  expect(output).not.toContain("incomplete")
  const early = await replay(place.path("data"), "--from", "10", "--to", "20")
  expect(early).toMatchObject({ code: exitCodes.failed, output: "" })
  expect(early.error).toMatch(/the trace is from .* to .*; --from and --to must overlap it/)
})

test("a window of a running recorder is replayed, any number of times", async () => {
  const argv = ["--recorder", await recorder.listening(), "--from", between, "--to", after, "--speed", "max"]
  const { code, output, error } = await replay(...argv, "--repetitions", "2", "--report", place.path("report.json"))
  expect(error).toMatch(/replaying http:\/\/127\.0\.0\.1:\d+ as /)
  expect(output.match(/^repetition \d$/gm)).toEqual(["repetition 1", "repetition 2"])
  expect(output.match(/^events +3 events: 3 accepted/gm)).toHaveLength(2)
  expect(code).toBe(exitCodes.ok)
})

test("a recorder in the recorded cluster is reached through its Service", { timeout: patient(30_000) }, async () => {
  await using api = await startServiceProxy({ upstream: await recorder.listening() })
  const kubeconfig = place.write("recorded", kubeconfigOf(`http://127.0.0.1:${api.port}`))
  const argv = ["--recorder", "kubereel/kubereel", "--recorder-kubeconfig", kubeconfig, "--from", between]
  const { code, output } = await replay(...argv, "--speed", "max")
  expect(output).toMatch(/^events +3 events: 3 accepted/m)
  expect(code).toBe(exitCodes.ok)
})

test("what a recorder recorded is not replayed into the recorded cluster, and nothing is created there", async () => {
  const kubeconfig = place.write("target", kubeconfigOf(sandbox.url))
  const url = await recorder.listening()
  const isKnown = async (): Promise<boolean> =>
    (await (await recorder.post(everything("ndjson"))).text()).includes(`"clusterUid":"${sandbox.clusterUid}"`)
  await recorder.until(isKnown, "the cluster to be known")
  for (const source of [[place.path("data")], ["--recorder", url, "--from", between]]) {
    const answer = await replay(...source, "--kubeconfig", kubeconfig, "--name", "mine")
    expect(answer).toMatchObject({ code: exitCodes.failed, output: "" })
    expect(answer.error).toMatch(/recorded in this very cluster.*--into-recorded-cluster/)
  }
  expect(sandbox.get("v1.Namespace", "", "kubereel-replay-mine")).toBeUndefined()
})

test("a recorder that cannot be reached, and a directory without a recording, are one message", async () => {
  const unreachable = await replay("--recorder", "127.0.0.1:1", "--from", between)
  expect([unreachable.code, unreachable.output]).toEqual([exitCodes.failed, ""])
  expect(unreachable.error).toMatch(/cannot reach a recorder at http:\/\/127\.0\.0\.1:1: .*--recorder\n$/)
  const empty = await replay(place.directory)
  expect(empty.error).toMatch(
    /^reel replay: cannot replay .*: it is a directory, but there is no recording\.db; name a trace, or the data directory/,
  )
  expect(empty.code).toBe(exitCodes.failed)
})

test.each([
  [["--recorder", "127.0.0.1:1"], /--recorder needs --from/],
  [["x", "--recorder", "127.0.0.1:1", "--from", "1"], /--recorder takes no TRACE/],
  [["x", "--token-file", "y"], /--token-file requires --recorder/],
  [["--recorder", "a:1", "--from", "1", "--recorder-context", "y"], /are for --recorder NAMESPACE\/SERVICE/],
  [["--recorder", "ftp://x", "--from", "1"], /must be a URL such as/],
  [["s3://bucket/"], /TRACE "s3:\/\/bucket\/": it names no object in the bucket/],
  [["x", "--repetitions", "0"], /must be a number from 1 on, or forever/],
  [["x", "--repetitions", "forever", "--keep"], /--repetitions forever excludes --keep/],
])("%j is a usage error", async (argv, message) => {
  const answer = await replay(...argv)
  expect([answer.code, answer.output]).toEqual([exitCodes.usage, ""])
  expect(answer.error).toMatch(message)
})

test("the data directory of a running recorder is history for the controllers of reel host too", async () => {
  const modules = temporaryDirectory()
  writeFileSync(join(modules, "watcher.yaml"), "name: watcher\n")
  writeFileSync(
    join(modules, "watcher.js"),
    `export default {
      name: "watcher", for: { kind: "v1.ConfigMap" }, owns: [], watches: [], reads: [], indexes: [], writes: [], concurrency: 1,
      reconcile: ({ key, object, cluster }) => { if (object) cluster.event(object, "Normal", "Seen", object.data.value) },
    }`,
  )
  const terminal = capturedTerminal()
  const journal = join(modules, "journal.ndjson")
  const words = [modules, "--replay", place.path("data"), "--from", between, "--to", after, "--journal", journal]
  expect([
    await hostCommand(() => import("../../../src/cli/host-replay.ts")).run(words, terminal),
    terminal.standardError.text(),
  ]).toEqual([exitCodes.ok, ""])
  expect(terminal.standardOutput.text()).toMatch(/: 3 changes fed, 0 left out$/m)
  const seen = [
    ...readFileSync(journal, "utf8").matchAll(/"name":"(\w)"},"eventType":"Normal","reason":"Seen","message":"(\d)"/g),
  ]
  expect(seen.map(([, name, value]) => `${name} ${value}`)).toEqual(["a 1", "b 1", "a 2", "c 1"])
})
