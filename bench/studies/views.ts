/**
 * What it costs to convert a trace to a view, and that its memory does not grow with the trace.
 *
 * node bench/studies/views.ts [events]
 * node bench/studies/views.ts --html [events]
 *
 * Pods of 3.8 kB, 2,000 of them alive at a time, each created, running, ended and deleted; their ReplicaSets are not in the trace, so each pod
 * waits for its owner. The trace is a file of NDJSON, of `events` (default 100,000) and of four times as many; each conversion is a process
 * of its own. `ndjson` is there for comparison.
 *
 * Last measured (2026-11-27, 2 shared cores, Node 26.10) on a machine that was not idle, load 5 to 9:
 *
 *              events   read MB   CPU s   most memory MB   written MB
 *   ndjson    100,000       380     2.6              151        379.9
 *   perfetto  100,000       380     6.0              218         25.6
 *   parquet   100,000       380     7.6              293          1.8
 *   ndjson    400,000     1,522     9.9              196      1,522.4
 *   perfetto  400,000     1,522    21.2              259        101.3
 *   parquet   400,000     1,522    28.8              324          7.1
 *
 * `--html`: what one file of a window costs (decision 0103), of `events` (default 600,000) changes of Deployments of 2.9 kB, a hundredth as many objects, by the
 * built command: exported from a data directory, and of a quarter of the events to show that memory does not grow.
 *
 * Last measured (2026-11-29, 2 shared cores, Node 26.10):
 *
 *      events      s   CPU s  most MB     MB  bytes/event
 *     150,000    2.5     3.0      173    1.7         11.0
 *     600,000    9.3    10.8      227    7.5         12.5
 *
 * How much the engine takes before it collects is its own choice: with `node --max-old-space-size=60` the same conversions of 400,000 events
 * took at most 159 and 195 MB. What is alive after a collection, 16 to 24 MB, did not grow from 6,000 events to 306,000.
 */
import { execFileSync } from "node:child_process"
import { closeSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { convertInto, openTraceFile, type TraceFormatName, VIEW_NAMES, type ViewName } from "../../src/trace/index.ts"
import { recordPast } from "../load/recorded-past.ts"

const alive = 2000
const everyMicros = 10_000
const start = 1_763_700_000_000_000

const managedFields = Array.from({ length: 20 }, (_, at) => ({
  manager: "kubelet",
  operation: "Update",
  apiVersion: "v1",
  time: "2025-11-21T04:40:00Z",
  fieldsType: "FieldsV1",
  fieldsV1: { [`f:${at}`]: { "f:a": {}, "f:b": {} } },
}))

/** A pod's line: what it is like at one of the four steps of its life. */
const lineOf = (sequence: number): string => {
  const slot = sequence % alive
  const step = Math.floor(sequence / alive) % 4
  const time = start + sequence * everyMicros
  const at = `${new Date(time / 1000).toISOString().slice(0, 19)}Z`
  const number = Math.floor(sequence / alive / 4) * alive + slot
  const [uid, name, namespace, owner] = [`uid-${number}`, `web-${number}`, `ns-${slot % 50}`, `web-${slot % 500}`]
  const ended = { terminated: { startedAt: at, finishedAt: at, exitCode: 0, reason: "Completed" } }
  const container = { name: "c", image: "nginx:1.25", restartCount: 0 }
  const status =
    step === 0
      ? { phase: "Pending" }
      : step === 1
        ? { phase: "Running", containerStatuses: [{ ...container, state: { running: { startedAt: at } } }] }
        : { phase: "Succeeded", containerStatuses: [{ ...container, state: ended }] }
  const ownerReferences = [
    { apiVersion: "apps/v1", kind: "ReplicaSet", name: owner, uid: `of-${owner}`, controller: true },
  ]
  const resourceVersion = `${sequence}`
  const metadata = { name, namespace, uid, resourceVersion, creationTimestamp: at, managedFields, ownerReferences }
  const spec = { ...(step > 0 && { nodeName: "node-1" }), containers: [{ name: "c", image: "nginx:1.25" }] }
  const object = { apiVersion: "v1", kind: "Pod", metadata, spec, status }
  const action = step === 3 ? "deleted" : "applied"
  return `${JSON.stringify({ sequence: sequence + 1, time, action, gvk: "v1.Pod", uid, namespace, name, resourceVersion, object })}\n`
}

const writeTrace = (path: string, events: number): void => {
  const file = openSync(path, "w")
  const window = { start, end: start + events * everyMicros }
  writeSync(
    file,
    `${JSON.stringify({ format: "kubereel", version: 1, window, cut: events, kinds: ["v1.Pod"], incomplete: [] })}\n`,
  )
  for (let sequence = 0; sequence < events; sequence += 200)
    writeSync(file, Array.from({ length: Math.min(200, events - sequence) }, (_, at) => lineOf(sequence + at)).join(""))
  writeSync(file, `${JSON.stringify({ end: { snapshot: 0, events, gaps: 0 } })}\n`)
  closeSync(file)
}

/** Converts a trace into nothing, and prints what it cost. */
const convert = async (path: string, to: TraceFormatName | ViewName): Promise<void> => {
  let written = 0
  const outcome = await convertInto({
    inputName: path,
    openInput: () => openTraceFile(path),
    from: "ndjson",
    to,
    compression: "none",
    excludeOwned: false,
    openSink: async () => ({
      isDirect: true,
      write: async (bytes) => {
        written += bytes.length
      },
      commit: async () => undefined,
      discard: async () => undefined,
    }),
    signal: new AbortController().signal,
    onProgress: () => undefined,
  })
  if (outcome._tag === "Failed") throw outcome.error
  const { user, system } = process.cpuUsage()
  const cells = [
    to.padEnd(8),
    outcome.summary.events.toLocaleString("en").padStart(9),
    Math.round(statSync(path).size / 1e6)
      .toLocaleString("en")
      .padStart(9),
    ((user + system) / 1e6).toFixed(1).padStart(7),
    `${Math.round(process.resourceUsage().maxRSS / 1024)}`.padStart(16),
    (written / 1e6).toFixed(1).padStart(12),
  ]
  console.log(cells.join(" "))
}

/** Runs `reel` and prints what it cost. */
const reel = (words: ReadonlyArray<string>, file: string, events: number): void => {
  const begin = performance.now()
  const command = fileURLToPath(new URL("../../bin/reel.js", import.meta.url))
  const measured = `process.on("exit", () => { const { user, system } = process.cpuUsage(); process.stdout.write(JSON.stringify([user + system, process.resourceUsage().maxRSS])) })`
  const preload = `data:text/javascript,${encodeURIComponent(measured)}`
  const output = execFileSync(process.execPath, ["--import", preload, command, ...words], {
    stdio: ["ignore", "pipe", "ignore"],
  }).toString()
  const [micros = 0, kibibytes = 0]: ReadonlyArray<number> = JSON.parse(/\[[\d,]+\]$/.exec(output)?.[0] ?? "[]")
  const size = statSync(file).size
  const cells = [
    ...[events.toLocaleString("en").padStart(9), ((performance.now() - begin) / 1000).toFixed(1).padStart(6)],
    ...[(micros / 1e6).toFixed(1).padStart(6), `${Math.round(kibibytes / 1024)}`.padStart(8)],
    ...[(size / 1e6).toFixed(1).padStart(6), (size / events).toFixed(1).padStart(12)],
  ]
  console.log(cells.join(" "))
}

const measureHtml = (folder: string, events: number): void => {
  console.log("   events      s   CPU s  most MB     MB  bytes/event")
  for (const count of [Math.round(events / 4), events]) {
    const [directory, file] = [join(folder, `${count}`), join(folder, `${count}.html`)]
    recordPast(directory, count)
    reel(["export", "--data-dir", directory, "--start", "0", "-o", file], file, count)
  }
}

const [first = "100000", to] = process.argv.slice(2)
if (first === "--html") {
  const folder = mkdtempSync(join(tmpdir(), "views-"))
  try {
    measureHtml(folder, Number(to ?? 600_000))
  } finally {
    rmSync(folder, { recursive: true })
  }
} else if (to !== undefined) await convert(first, to as ViewName)
else {
  const folder = mkdtempSync(join(tmpdir(), "views-"))
  try {
    console.log("            events   read MB   CPU s   most memory MB   written MB")
    for (const events of [Number(first), 4 * Number(first)]) {
      const path = join(folder, `${events}.ndjson`)
      writeTrace(path, events)
      for (const name of ["ndjson", ...VIEW_NAMES])
        execFileSync(process.execPath, [fileURLToPath(import.meta.url), path, name], { stdio: "inherit" })
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
