/**
 * What SimKube's own tracer exported for a minute, and what we export for the same minute, from the same watch lines.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, describe, expect, test } from "vitest"
import { parse } from "yaml"
import { openExport } from "../../../src/actors/exporter/open-export.ts"
import { ArchiveReader } from "../../../src/trace/archive/archive-reader.ts"
import { formatExactJson, type JsonObject } from "../../../src/trace/exact-json.ts"
import { type SimkubeTraceItem, SimkubeTraceReader } from "../../../src/trace/simkube-trace-reader.ts"
import { recordLines } from "./record-lines.ts"

/** JSON pointers of objects at which we may differ from SimKube. Empty: every byte of every object agrees. */
const sanitisedPointers: ReadonlyArray<string> = []

interface Golden {
  readonly name: string
  /** Applied, deleted and index entries in SimKube's export. */
  readonly size: readonly [applied: number, deleted: number, index: number]
  /** Objects that SimKube left out because the trace holds their owner, by prefix of `gvk namespace/name`. */
  readonly owned: ReadonlyArray<string>
}

const goldens: ReadonlyArray<Golden> = [
  {
    name: "recording",
    size: [8, 3, 6],
    owned: [
      "apps/v1.ReplicaSet team-a/web-",
      "v1.Pod team-a/web-",
      "v1.Pod team-a/db-",
      "v1.Pod team-b/agent-",
      "v1.Pod team-b/migrate-",
    ],
  },
  { name: "recording-2", size: [7, 3, 5], owned: [] },
]

const directories: Array<string> = []
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true })
})

describe.each(goldens)("the golden pair $name", ({ name, size, owned }) => {
  const folder = fileURLToPath(new URL(`../../data/${name}`, import.meta.url))
  const simkube = readTrace(readFileSync(join(folder, "simkube-2.7.sktrace")))
  const ours = exportRecording(folder, simkube)
  test("is as large as when it was made", () => {
    const counted = (action: string): number => simkube.changes.filter((change) => change.action === action).length
    expect([counted("applied"), counted("deleted"), simkube.index.size]).toEqual(size)
  })

  test("leaves out what its objects own, which was recorded all the same", async () => {
    const { changes } = await ours
    const { changes: all } = await exportRecording(folder, simkube, { excludeOwned: false })
    for (const prefix of owned) {
      expect(changes.some(({ key }) => key.startsWith(prefix))).toBe(false)
      expect(all.some(({ key }) => key.startsWith(prefix))).toBe(true)
    }
  })

  test("holds the same events: second, kind, name, applied or deleted", async () => {
    const trace = await ours
    expect(trace.changes.map(describeChange).sort()).toEqual(simkube.changes.map(describeChange).sort())
  })

  test("holds the same index hashes", async () => {
    const trace = await ours
    expect(sorted(trace.index)).toEqual(sorted(simkube.index))
  })

  test("holds the same objects, but for the sanitised pointers", async () => {
    const trace = await ours
    const objectsOf = ({ changes }: Trace): ReadonlyArray<string> =>
      changes
        .map((change) => `${describeChange(change)} ${formatExactJson(without(change.object, sanitisedPointers))}`)
        .sort()
    expect(objectsOf(trace)).toEqual(objectsOf(simkube))
  })

  test("keeps the order of each object's events", async () => {
    const trace = await ours
    const ofObject = (changes: Trace["changes"], key: string): ReadonlyArray<string> =>
      changes.filter((change) => change.key === key).map(describeChange)
    for (const { key } of simkube.changes) expect(ofObject(trace.changes, key)).toEqual(ofObject(simkube.changes, key))
  })
})

interface Change {
  readonly seconds: number
  readonly action: "applied" | "deleted"
  /** `gvk namespace/name` */
  readonly key: string
  readonly object: JsonObject
}

interface Trace {
  readonly changes: ReadonlyArray<Change>
  readonly index: ReadonlyMap<string, string>
}

const describeChange = ({ seconds, action, key }: Change): string => `${seconds} ${action} ${key}`

const sorted = (index: ReadonlyMap<string, string>): ReadonlyArray<string> =>
  [...index].map(([key, hash]) => `${key} ${hash}`).sort()

async function exportRecording(
  folder: string,
  simkube: Trace,
  { excludeOwned = true }: { readonly excludeOwned?: boolean } = {},
): Promise<Trace> {
  const directory = mkdtempSync(join(tmpdir(), "kubereel-golden-"))
  directories.push(directory)
  const { trackedObjects } = parse(readFileSync(join(folder, "config.yml"), "utf8")) as {
    readonly trackedObjects: Readonly<Record<string, { readonly skipOwned?: boolean } | null>>
  }
  await recordLines(folder, new Set(Object.keys(trackedObjects)), directory)
  const reader = ArchiveReader.open(directory)
  const cut = reader.cut()
  expect(reader.gaps()).toEqual([])
  reader.close()
  // The window that SimKube exported began with its first event and ended after its last.
  const seconds = simkube.changes.map((change) => change.seconds)
  const { pieces } = openExport(directory, {
    export: 1,
    format: "simkube",
    cut,
    fromTime: (Math.min(...seconds) - 60) * 1_000_000,
    untilTime: (Math.max(...seconds) + 3600) * 1_000_000,
    excludedNamespaces: ["kube-system"],
    excludedLabels: [],
    skipOwned: Object.entries(trackedObjects).flatMap(([gvk, entry]) => (entry?.skipOwned === true ? [gvk] : [])),
    excludeOwned,
    excludeDaemonSetOwned: excludeOwned,
    recordedKinds: Object.keys(trackedObjects),
    trackedObjects,
    incomplete: {},
  })
  const chunks: Array<Uint8Array> = []
  for await (const piece of pieces) chunks.push(piece)
  return readTrace(Buffer.concat(chunks))
}

function readTrace(bytes: Uint8Array): Trace {
  const reader = new SimkubeTraceReader()
  const items: Array<SimkubeTraceItem> = [...reader.push(bytes), ...reader.end()]
  const changes: Array<Change> = []
  const index = new Map<string, string>()
  for (const item of items) {
    if (item.type === "applied" || item.type === "deleted") {
      changes.push({ seconds: item.seconds, action: item.type, key: keyOf(item.object), object: item.object })
    }
    if (item.type === "index") index.set(`${item.gvk} ${item.name}`, String(item.hash))
  }
  return { changes, index }
}

function keyOf(object: JsonObject): string {
  const metadata = object["metadata"] as JsonObject
  const namespace = metadata["namespace"] === undefined ? "" : `${String(metadata["namespace"])}/`
  return `${String(object["apiVersion"])}.${String(object["kind"])} ${namespace}${String(metadata["name"])}`
}

/** A copy without what the pointers (of object members only) point to. */
function without(object: JsonObject, pointers: ReadonlyArray<string>): JsonObject {
  const copy = structuredClone(object) as Record<string, JsonObject>
  for (const pointer of pointers) {
    const path = pointer.slice(1).split("/")
    let at: Record<string, unknown> | undefined = copy
    for (const key of path.slice(0, -1)) at = at?.[key] as Record<string, unknown> | undefined
    const last = path.at(-1)
    if (at !== undefined && last !== undefined) delete at[last]
  }
  return copy
}
