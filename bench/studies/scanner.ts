/**
 * What the byte scanner costs.
 *
 *   node bench/studies/scanner.ts [pods]
 *
 * Lines are Deployments of 2,900 bytes made from recorded ones (status and managedFields included), 1,000 different ones
 * in turn as if read in chunks of 64 KiB; the list is of compact Pods of 4,300 bytes. The best of many rounds is shown,
 * because other work on the machine only ever adds. Last measured on 2 busy cores of an AMD EPYC at 2.6 GHz, Node 26.10:
 *
 *   split into lines                                  0.08 µs     0.03 ns/byte
 *   split and scan, detect: all                       1.02 µs     0.35 ns/byte
 *   split and scan, detect: content                   1.39 µs     0.48 ns/byte
 *   split and scan, detect: spec                      1.18 µs     0.41 ns/byte
 *   split and scan the slow way, detect: content     40.69 µs    14.03 ns/byte
 *   for comparison: split and JSON.parse             10.73 µs     3.70 ns/byte
 *   list of 100000 Pods (430 MB), detect: all: 0.58 s CPU
 *   list of 100000 Pods (430 MB), detect: content: 0.64 s CPU
 */

import { readFileSync } from "node:fs"
import { compileDetectRules, type Detect, defaultIgnore, ListScanner, ObjectScanner } from "../../src/kube/index.ts"
import { LineSplitter } from "../../src/kube/scanner/line-splitter.ts"
import { scanWatchLineSlowly, UnreadableError } from "../../src/kube/scanner/slow-path.ts"
import { WatchLineScanner } from "../../src/kube/scanner/watch-line.ts"

const lineBytes = 2900
const podBytes = 4300
const chunkBytes = 64 * 1024
const lineCount = 1000

interface KubernetesObject {
  kind?: string
  apiVersion?: string
  metadata: Record<string, unknown> & { managedFields: unknown[] }
  status: { conditions?: unknown[] }
}

const recorded = (name: string): KubernetesObject[] =>
  readFileSync(new URL(`../../test/data/apiserver/${name}`, import.meta.url), "utf8")
    .split("\n")
    .filter((line) => line.startsWith('{"type":"MODIFIED"'))
    .map((line) => (JSON.parse(line) as { object: KubernetesObject }).object)

/** Deterministic: two runs scan the same bytes. */
let state = 1
const random = (below: number): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return Math.floor((state / 2 ** 32) * below)
}
const word = (): string =>
  Array.from({ length: 4 + random(12) }, () => "abcdefghijklmnopqrstuvwxyz-"[random(27)]).join("")
const hex = (digits: number): string => Array.from({ length: digits }, () => random(16).toString(16)).join("")

/** A variant with names of its own, brought to `bytes` by what may be longer or shorter in reality: an annotation. */
const variant = (
  object: KubernetesObject,
  version: number,
  bytes: number,
  render: (object: object) => string,
): string => {
  const copy = structuredClone(object)
  const annotations: Record<string, string> = { "deployment.kubernetes.io/revision": "1", "example.com/note": "" }
  Object.assign(copy.metadata, {
    name: word(),
    namespace: word(),
    uid: [8, 4, 4, 4, 12].map(hex).join("-"),
    resourceVersion: String(100_000 + version),
    annotations,
  })
  for (let rest = render(copy).length - bytes; rest > 0; rest = render(copy).length - bytes) {
    if (copy.metadata.managedFields.length > 2) copy.metadata.managedFields.shift()
    else copy.status.conditions?.pop()
  }
  annotations["example.com/note"] = "n".repeat(Math.max(0, bytes - render(copy).length))
  return render(copy)
}

const lines = (): Buffer => {
  const objects = recorded("watch-deployments-scale-delete.http")
  const render = (object: object): string => `${JSON.stringify({ type: "MODIFIED", object })}\n`
  return Buffer.concat(
    Array.from({ length: lineCount }, (_, index) =>
      Buffer.from(variant(objects[index % objects.length] as KubernetesObject, index, lineBytes, render)),
    ),
  )
}

const pods = (): Buffer => {
  const objects = recorded("watch-pods-initial-events.http")
  const items = Array.from({ length: 1000 }, (_, index) => {
    const { kind, apiVersion, ...item } = objects[index % objects.length] as KubernetesObject
    return variant(item, index, podBytes, JSON.stringify)
  })
  return Buffer.from(`${items.join(",")},`)
}

/** Shortest time of one of many rounds, ns. */
const best = (round: () => void): number => {
  let least = Number.POSITIVE_INFINITY
  for (let index = 0; index < 60; index++) {
    const start = process.hrtime.bigint()
    round()
    least = Math.min(least, Number(process.hrtime.bigint() - start))
  }
  return least
}

const show = (what: string, nanoseconds: number, bytes: number): void => {
  const micros = (nanoseconds / 1000).toFixed(2).padStart(8)
  console.log(` *   ${what.padEnd(46)}${micros} µs ${(nanoseconds / bytes).toFixed(2).padStart(8)} ns/byte`)
}

const inChunks = (bytes: Buffer, take: (start: number, end: number) => void): void => {
  for (let start = 0; start < bytes.length; start += chunkBytes) take(start, Math.min(start + chunkBytes, bytes.length))
}

const rulesOf = (detect: Detect, kind: string, group = "apps") => {
  const gvk = { group, version: "v1", kind }
  return compileDetectRules({ detect, ignore: defaultIgnore(gvk, detect), gvk })
}

const body = lines()
const perLine = (what: string, round: () => void): void => show(what, best(round) / lineCount, body.length / lineCount)
const splitting = (take: (bytes: Buffer, start: number, end: number) => void): (() => void) => {
  const splitter = new LineSplitter(take)
  return () => inChunks(body, (start, end) => splitter.push(body, start, end))
}

let scanned = 0
perLine(
  "split into lines",
  splitting(() => scanned++),
)
for (const detect of ["all", "content", "spec"] as const) {
  const scanner = new WatchLineScanner(rulesOf(detect, "Deployment"))
  perLine(
    `split and scan, detect: ${detect}`,
    splitting((bytes, start, end) => {
      if (!scanner.scan(bytes, start, end)) throw new Error("refused")
    }),
  )
}
const slow = new WatchLineScanner(rulesOf("content", "Deployment"))
perLine(
  "split and scan the slow way, detect: content",
  splitting((bytes, start, end) => {
    if (scanWatchLineSlowly(slow, bytes, start, end) instanceof UnreadableError) throw new Error("refused")
  }),
)
perLine(
  "for comparison: split and JSON.parse",
  splitting((bytes, start, end) => JSON.parse(bytes.toString("utf8", start, end))),
)

const count = Number(process.argv[2] ?? 100_000)
const thousand = pods()
for (const detect of ["all", "content"] as const) {
  const objects = new ObjectScanner(rulesOf(detect, "Pod", ""))
  const list = new ListScanner((bytes, start, end) => {
    if (!objects.scan(bytes, start, end)) throw new Error("refused")
  })
  const send = (text: string): void => list.push(Buffer.from(text), 0, text.length)
  const before = process.cpuUsage()
  send('{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[')
  for (let sent = 0; sent < count - 1000; sent += 1000) {
    inChunks(thousand, (start, end) => list.push(thousand, start, end))
  }
  inChunks(thousand.subarray(0, -1), (start, end) => list.push(thousand, start, end))
  send("]}")
  const { user, system } = process.cpuUsage(before)
  const megabytes = ((list.items * thousand.length) / 1000 / 1e6).toFixed(0)
  console.log(
    ` *   list of ${list.items} Pods (${megabytes} MB), detect: ${detect}: ${((user + system) / 1e6).toFixed(2)} s CPU`,
  )
  if (!list.isComplete) throw new Error("the list did not end")
}
