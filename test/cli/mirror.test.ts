/** Commands that read a data directory, given a stream: they print the same. And those that write into one, which refuse it. */
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, expect, test } from "vitest"
import { DeltaReader } from "../../src/archive/index.ts"
import { openStore } from "../../src/blob/index.ts"
import type { Command } from "../../src/cli/command-line/command.ts"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { coverageCommand } from "../../src/cli/coverage.ts"
import { diffCommand } from "../../src/cli/diff.ts"
import { eventsCommand } from "../../src/cli/events.ts"
import { askRecorder } from "../../src/cli/export/connection/recorder-connection.ts"
import { recorderInDirectory } from "../../src/cli/export/connection/recorder-in-directory.ts"
import { exportCommand } from "../../src/cli/export.ts"
import { getCommand } from "../../src/cli/get.ts"
import { historyCommand } from "../../src/cli/history.ts"
import { importCommand } from "../../src/cli/import.ts"
import { inspectCommand } from "../../src/cli/inspect.ts"
import { pinCommand } from "../../src/cli/pin.ts"
import { recordCommand } from "../../src/cli/record.ts"
import { replayCommand } from "../../src/cli/replay.ts"
import { serveCommand } from "../../src/cli/serve.ts"
import { storeCommand } from "../../src/cli/store.ts"
import { whyCommand } from "../../src/cli/why.ts"
import { encodeFrame, START } from "../archive/sample-frames.ts"
import { recordSample } from "../archive/sample-recording.ts"
import { recordLarge } from "../fleet/mirror/large-recording.ts"
import { firstTenure, ship, shipAll } from "../fleet/shipping-recorder.ts"
import { patient } from "../harness/patience.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { capturedTerminal } from "./captured-terminal.ts"
import { ran, serving } from "./commands-in.ts"
import { recordStory } from "./past-recording.ts"

let place: string
let original: string
/** A directory with its stream. */
let bucket: string
let environment: Record<string, string>
beforeAll(async () => {
  place = mkdtempSync(join(tmpdir(), "kubereel-mirror-"))
  original = join(place, "one")
  bucket = join(place, "bucket")
  recordStory(original)
  await shippedTo(bucket)
  environment = { KUBEREEL_CACHE: join(place, "cache") }
})

afterAll(() => rmSync(place, { recursive: true, force: true }))

const shippedTo = async (place: string, recording = original): Promise<void> => {
  mkdirSync(place, { recursive: true })
  const store = await openStore({ provider: "file", host: undefined, region: undefined, bucket: place, key: "" })
  await shipAll(store, recording, 15_000)
  store.close()
}

const run = (command: Command, line: string, where: string) =>
  ran(command, `${line} ${where}`.split(" "), capturedTerminal({ environment }))

test.each<[string, Command, string]>([
  ["get", getCommand(), "deploy -A --data-dir"],
  ["get of a moment", getCommand(), "pods -n shop --at 2026-03-02T03:00:05Z -o yaml --data-dir"],
  ["history", historyCommand(), "deploy/web --data-dir"],
  ["events", eventsCommand(), "--since 0 --data-dir"],
  ["why", whyCommand(), "pod/web-1-a -n shop --data-dir"],
  ["diff", diffCommand(), "--at 2026-03-02T03:01:00Z..03:12 --data-dir"],
  ["coverage", coverageCommand(), "-o json --data-dir"],
  ["inspect", inspectCommand(), "-o json --data-dir"],
  ["export", exportCommand(), "-o - --start 0 --data-dir"],
  ["replay", replayCommand(), "--dry-run"],
])(
  "reel %s prints of a stream what it prints of the directory",
  { timeout: patient(30_000) },
  async (_, command, line) => {
    const expected = await run(command, line, original)
    expect(expected.output.length).toBeGreaterThan(20)
    const named = (text: string): string => text.replaceAll(bucket, original)
    const found = await run(command, line, bucket)
    expect({ ...found, output: named(found.output), error: named(found.error) }).toEqual(expected)
  },
)

test("store info says of a stream what it says of the directory, but for its size", async () => {
  const kinds = async (where: string) =>
    JSON.parse((await run(storeCommand(), "info -o json --data-dir", where)).output).kinds
  expect(await kinds(bucket)).toEqual(await kinds(original))
})

test("reel serve shows a stream, and what is added to it", { timeout: patient(30_000) }, async () => {
  const kubeconfig = join(temporaryDirectory(), "kubeconfig")
  const argv = [bucket, "--listen", "127.0.0.1:0", "--kubeconfig-out", kubeconfig]
  await using server = await serving(serveCommand(), argv, environment)
  const answer = await fetch(`${server.url}/apis/apps/v1/namespaces/shop/deployments`)
  const { items } = (await answer.json()) as { items: ReadonlyArray<{ metadata: { name: string } }> }
  expect(items.map(({ metadata }) => metadata.name)).toContain("web")
})

test("of a stream that is away, the mirror answers, and standard error says so", {
  timeout: patient(30_000),
}, async () => {
  const place = join(temporaryDirectory(), "bucket")
  await shippedTo(place)
  const expected = await run(getCommand(), "deploy -A --data-dir", place)
  renameSync(join(place, "stream.json"), join(place, "gone"))
  // Within 20 s the store is not asked.
  const found = await run(getCommand(), "deploy -A --data-dir", `file://${place}`)
  expect(found).toEqual(expected)
})

test.each<[string, Command, string]>([
  ["record", recordCommand(), "-c tracer.yml --data-dir"],
  ["import audit --into", importCommand(), "audit log --into"],
  ["pin", pinCommand(), "--from -30s --data-dir"],
  ["store verify", storeCommand(), "verify --data-dir"],
  ["store compact", storeCommand(), "compact --data-dir"],
])("reel %s refuses a store", async (_, command, line) => {
  const { code, error } = await run(command, line, "s3://recordings/production")
  expect(code).toBe(exitCodes.usage)
  expect(error).toContain(
    "is an object store, into which only reel record --archive-to writes; reel restore makes a directory of it",
  )
  expect(existsSync("s3:")).toBe(false)
})

test("a place without a stream has none", async () => {
  const { code, error } = await run(getCommand(), "deploy -A --data-dir", `file://${temporaryDirectory()}`)
  expect(code).toBe(exitCodes.failed)
  expect(error).toMatch(/contains no stream: it has no stream\.json/)
})

test("the built command reads a stream in a process of its own", { timeout: patient(60_000) }, async () => {
  const bin = fileURLToPath(new URL("../../bin/reel.js", import.meta.url))
  const cache = join(temporaryDirectory(), "cache")
  const built = (where: string) =>
    spawnSync(
      process.execPath,
      [bin, "history", "configmap/object-1", "-n", "ns-1", "-o", "json", "--data-dir", where],
      {
        encoding: "utf8",
        env: { PATH: process.env.PATH, KUBEREEL_CACHE: cache },
      },
    )
  const [recorded, place] = [temporaryDirectory(), temporaryDirectory()]
  await recordLarge(recorded, 60)
  await shippedTo(place, recorded)
  const [expected, found] = [built(recorded), built(place)]
  expect(expected.stdout.length).toBeGreaterThan(200)
  expect(readdirSync(join(cache, "ranges")).length).toBeGreaterThan(0)
  expect([found.status, found.stdout, found.stderr]).toEqual([0, expected.stdout, expected.stderr])
  expect(readdirSync(join(cache, "mirrors"))).toHaveLength(1)
})

test("a stream that is asked again and again is live, and what was asked before is answered to its end", async () => {
  const [recording, place] = [temporaryDirectory(), temporaryDirectory()]
  const writer = recordSample(recording, 31)
  const store = await openStore({ provider: "file", host: undefined, region: undefined, bucket: place, key: "" })
  const sender = new DeltaReader(recording)
  const tenure = await ship(store, sender, firstTenure)
  const surroundings = { environment, say: () => undefined, everyMs: -1 }
  const { recorder, close } = await recorderInDirectory(place, surroundings)
  const ask = () => {
    const parameters = new URLSearchParams({ kind: "v1.ConfigMap", from: String(START) })
    const question = { accept: "application/x-ndjson", path: "changes", parameters }
    return askRecorder(
      { recorder, idleTimeoutMs: undefined, userAgent: "test" },
      question,
      new AbortController().signal,
    )
  }
  const end = recorder.offline?.knownUntil ?? 0
  const slow = await ask()
  const gvk = "v1.ConfigMap"
  const event = { action: "applied", number: 1, time: START + 1e9, version: 5000, object: "{}" } as const
  writer.append("watcher/more", 1, 1, encodeFrame({ gvk, events: [event], completeThrough: "5000" }))
  writer.commit()
  await ship(store, sender, tenure)
  const before = await text(await ask())
  expect(before.split("\n").length).toBe((await text(slow)).split("\n").length + 1)
  expect(recorder.offline?.knownUntil).toBeGreaterThan(end)
  expect(recorder.offline?.isWritten).toBe(false)
  await close()
  sender.close()
  writer.close()
  store.close()
})
