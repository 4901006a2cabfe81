/** Compares SimKube's own export of one minute with ours, from the same watch lines. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { isDeepStrictEqual } from "node:util"
import { afterAll, describe, expect, test } from "vitest"
import { parse } from "yaml"
import { openExport } from "../../../src/actors/exporter/open-export.ts"
import { type AnsweredOwner, ArchiveReader, ArchiveWriter } from "../../../src/archive/index.ts"
import { formatGvk } from "../../../src/kube/offline.ts"
import {
  formatExactJson,
  type JsonObject,
  type PodLifecycle,
  type SimkubeTraceItem,
  SimkubeTraceReader,
  simkubeHash,
} from "../../../src/trace/index.ts"
import { exportJob } from "../../actors/exporter/export-job.ts"
import { readRecording } from "../../harness/recorded-watches.ts"
import { withoutGeneratedByCluster } from "../../trace/generated-by-cluster.ts"
import { recordLines } from "./record-lines.ts"

/**
 * JSON pointers that we remove and SimKube keeps, besides what its cluster generated (generated-by-cluster.ts). A closed list: every other
 * byte of every object agrees.
 */
const sanitisedPointers: ReadonlyArray<string> = ["/status", "/metadata/finalizers", "/metadata/ownerReferences"]

interface Golden {
  readonly name: string
  /** Applied, deleted and index entries in SimKube's export. */
  readonly size: readonly [applied: number, deleted: number, index: number]
  /** Index entries of objects whose spec its cluster did not add to. */
  readonly sameHashes: number
  /** Objects that SimKube omitted because the trace contains their owner, by prefix of `gvk namespace/name`. */
  readonly owned: ReadonlyArray<string>
  /** Lifecycles in SimKube's export. */
  readonly lives: number
  /** Unix seconds: the end of the window that SimKube exported, exclusive, where it matters. */
  readonly until?: number
}

const goldens: ReadonlyArray<Golden> = [
  {
    name: "recording",
    size: [8, 3, 6],
    sameHashes: 4,
    lives: 16,
    owned: [
      "apps/v1.ReplicaSet team-a/web-",
      "v1.Pod team-a/web-",
      "v1.Pod team-a/db-",
      "v1.Pod team-b/agent-",
      "v1.Pod team-b/migrate-",
    ],
  },
  // The second run of the CronJob, at :40, was recorded and is beyond the window.
  { name: "recording-2", size: [7, 3, 5], sameHashes: 4, owned: [], lives: 8, until: 1_795_257_540 },
]

const directories: Array<string> = []
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true })
})

describe.each(goldens)("the golden pair $name", ({ name, size, sameHashes, owned, lives, until }) => {
  const folder = fileURLToPath(new URL(`../../data/${name}`, import.meta.url))
  const simkube = readTrace(readFileSync(join(folder, "simkube-2.7.sktrace")))
  const ours = exportRecording(folder, simkube, { until })
  test("has its original size", () => {
    const counted = (action: string): number => simkube.changes.filter((change) => change.action === action).length
    expect([counted("applied"), counted("deleted"), simkube.index.size]).toEqual(size)
  })

  test("leaves out the objects that its objects own, although they were recorded", async () => {
    const { changes } = await ours
    const { changes: all } = await exportRecording(folder, simkube, { excludeOwned: false, until })
    for (const prefix of owned) {
      expect(changes.some(({ key }) => key.startsWith(prefix))).toBe(false)
      expect(all.some(({ key }) => key.startsWith(prefix))).toBe(true)
    }
  })

  test("contains the same events: second, kind, name, applied or deleted", async () => {
    const trace = await ours
    expect(trace.changes.map(describeChange).sort()).toEqual(simkube.changes.map(describeChange).sort())
  })

  test("contains the same index hashes, or those of the specs without what its cluster generated", async () => {
    const trace = await ours
    const expected = new Map(simkube.index)
    for (const { action, key, object } of simkube.changes) {
      if (action !== "applied") continue
      const { spec } = withoutGeneratedByCluster(object)
      if (!isDeepStrictEqual(spec, object.spec)) expected.set(key, String(simkubeHash(spec)))
    }
    expect(sorted(trace.index)).toEqual(sorted(expected))
    expect([...simkube.index].filter(([key, hash]) => expected.get(key) === hash)).toHaveLength(sameHashes)
  })

  test("contains the same objects, except for what is sanitised", async () => {
    const trace = await ours
    const objectsOf = (changes: Trace["changes"], of: (object: JsonObject) => JsonObject): ReadonlyArray<string> =>
      changes.map((change) => `${describeChange(change)} ${formatExactJson(of(change.object))}`).sort()
    const sanitised = (object: JsonObject): JsonObject => withoutGeneratedByCluster(without(object, sanitisedPointers))
    expect(objectsOf(trace.changes, (object) => object)).toEqual(objectsOf(simkube.changes, sanitised))
  })

  test("contains the same lifecycles: owner, hash, start and end, in the same order", async () => {
    const trace = await ours
    expect([...simkube.lifecycles.values()].flat()).toHaveLength(lives)
    expect(sortedEntries(trace.lifecycles)).toEqual(sortedEntries(simkube.lifecycles))
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
  /** By `gvk namespace/name hash`; `start end` each. */
  readonly lifecycles: ReadonlyMap<string, ReadonlyArray<string>>
}

const describeChange = ({ seconds, action, key }: Change): string => `${seconds} ${action} ${key}`

const sorted = (index: ReadonlyMap<string, string>): ReadonlyArray<string> =>
  [...index].map(([key, hash]) => `${key} ${hash}`).sort()

const sortedEntries = (lifecycles: Trace["lifecycles"]): ReadonlyArray<readonly [string, ReadonlyArray<string>]> =>
  [...lifecycles].sort(([left], [right]) => (left < right ? -1 : 1))

async function exportRecording(
  folder: string,
  simkube: Trace,
  { excludeOwned = true, until }: { readonly excludeOwned?: boolean; readonly until: number | undefined },
): Promise<Trace> {
  const directory = mkdtempSync(join(tmpdir(), "kubereel-golden-"))
  directories.push(directory)
  const { trackedObjects } = parse(readFileSync(join(folder, "config.yml"), "utf8")) as {
    readonly trackedObjects: Readonly<Record<string, { readonly skipOwned?: boolean } | null>>
  }
  await recordLines(folder, new Set(Object.keys(trackedObjects)), directory)
  await learnOwners(folder, new Set(Object.keys(trackedObjects)), directory)
  const reader = ArchiveReader.open(directory)
  const cut = reader.cut()
  expect(reader.gaps()).toEqual([])
  reader.close()
  // The window that SimKube exported began with its first event and ended after its last.
  const seconds = simkube.changes.map((change) => change.seconds)
  const { pieces } = openExport(
    { directory },
    exportJob([], {
      ...{ format: "simkube", cut, fromTime: (Math.min(...seconds) - 60) * 1_000_000 },
      untilTime: (until ?? Math.max(...seconds) + 3600) * 1_000_000,
      filters: { excluded_namespaces: ["kube-system"], excluded_labels: [] },
      skipOwned: Object.entries(trackedObjects).flatMap(([gvk, entry]) => (entry?.skipOwned === true ? [gvk] : [])),
      ...{ excludeOwned, excludeDaemonSetOwned: excludeOwned },
      ...{ recordedKinds: Object.keys(trackedObjects), trackedObjects },
    }),
  )
  const chunks: Array<Uint8Array> = []
  for await (const piece of pieces) chunks.push(piece)
  return readTrace(Buffer.concat(chunks))
}

/** The owners that an owner-resolver would have looked up: of kinds that were watched but are not tracked. */
async function learnOwners(folder: string, tracked: ReadonlySet<string>, directory: string): Promise<void> {
  const kinds = (await readRecording(folder)).map((kind) => ({ ...kind, gvk: formatGvk(kind.resource.gvk) }))
  const answers = kinds
    .filter(({ gvk }) => !tracked.has(gvk))
    .flatMap(({ gvk, lines }) =>
      lines.flatMap(({ bytes }): ReadonlyArray<AnsweredOwner> => {
        const { object } = JSON.parse(bytes.toString()) as { readonly object: { readonly metadata: Metadata } }
        const { uid, namespace = "", name, ownerReferences } = object.metadata
        if (uid === undefined) return []
        const references = ownerReferences === undefined ? "" : JSON.stringify(ownerReferences)
        return [{ uid, gvk, namespace, name, ownerReferences: references, state: "learnt" }]
      }),
    )
  const archive = ArchiveWriter.open(directory)
  archive.appendOwners(
    "owner-resolver",
    archive.nextIncarnation("owner-resolver"),
    1,
    answers,
    JSON.stringify(answers).length,
  )
  archive.close()
}

interface Metadata {
  readonly uid?: string
  readonly namespace?: string
  readonly name: string
  readonly ownerReferences?: unknown
}

const describeLife = (life: PodLifecycle): string =>
  life.state === "empty" ? "empty" : `${life.start} ${life.state === "finished" ? life.end : "running"}`

function readTrace(bytes: Uint8Array): Trace {
  const reader = new SimkubeTraceReader()
  const items: Array<SimkubeTraceItem> = [...reader.push(bytes), ...reader.end()]
  const changes: Array<Change> = []
  const index = new Map<string, string>()
  const lifecycles = new Map<string, ReadonlyArray<string>>()
  for (const item of items) {
    if (item.type === "applied" || item.type === "deleted") {
      changes.push({ seconds: item.seconds, action: item.type, key: keyOf(item.object), object: item.object })
    }
    if (item.type === "lifecycles") {
      for (const [hash, list] of item.pods) lifecycles.set(`${item.gvk} ${item.owner} ${hash}`, list.map(describeLife))
    }
    if (item.type === "index") index.set(`${item.gvk} ${item.name}`, String(item.hash))
  }
  return { changes, index, lifecycles }
}

function keyOf(object: JsonObject): string {
  const metadata = object.metadata as JsonObject
  const namespace = metadata.namespace === undefined ? "" : `${String(metadata.namespace)}/`
  return `${String(object.apiVersion)}.${String(object.kind)} ${namespace}${String(metadata.name)}`
}

/** A copy without the fields at the pointers (of object members only). */
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
