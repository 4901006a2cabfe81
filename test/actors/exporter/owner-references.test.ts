import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { ExportJob } from "../../../src/actors/exporter/definition.ts"
import { openExport } from "../../../src/actors/exporter/open-export.ts"
import { ArchiveWriter } from "../../../src/trace/archive/archive-writer.ts"
import type { JsonObject } from "../../../src/trace/exact-json.ts"
import { REMOVED_FOR_REPLAY } from "../../../src/trace/formats/trace-item.ts"
import { ObservationsBuilder } from "../../../src/trace/observations.ts"
import { SimkubeTraceReader } from "../../../src/trace/simkube-trace-reader.ts"

const replicaSet = "apps/v1.ReplicaSet"
const pod = "v1.Pod"
const minute = 60_000_000

const reference = (kind: string, name: string): JsonObject => ({
  apiVersion: "apps/v1",
  kind,
  name,
  uid: `uid-${name}`,
})

/** Pods come before their owner: the order in which two watchers happen to deliver. */
const recorded: ReadonlyArray<readonly [gvk: string, name: string, owners: ReadonlyArray<JsonObject>]> = [
  [pod, "owned-inside", [reference("ReplicaSet", "inside"), reference("Deployment", "outside")]],
  [pod, "owned-outside", [reference("Deployment", "outside")]],
  [pod, "bare", []],
  [replicaSet, "inside", [reference("Deployment", "outside")]],
]

let directory = ""

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "kubereel-owners-"))
  const writer = ArchiveWriter.open(directory)
  const memory = Buffer.alloc(64 * 1024)
  recorded.forEach(([gvk, name, owners], index) => {
    const builder = new ObservationsBuilder(gvk)
    const metadata = {
      name,
      namespace: "shop",
      uid: `uid-${name}`,
      resourceVersion: String(index + 1),
      finalizers: ["example.com/held"],
      ...(owners.length > 0 && { ownerReferences: owners }),
    }
    const object = Buffer.from(
      JSON.stringify({ metadata, spec: { nodeName: "n", index }, status: { phase: "Running" } }),
    )
    builder.begin(memory, 0)
    builder.addObject({
      number: 1 + index,
      uid: `uid-${name}`,
      namespace: "shop",
      name,
      ownerReferences: Buffer.from(JSON.stringify(owners)),
    })
    if (!builder.append(1, 1 + index, minute + index * 1000, index + 1, index, 0, object, 0, object.length))
      throw new Error("the frame is too small")
    writer.append(`watcher/${gvk}`, 1, index + 1, memory.subarray(0, builder.finish()))
  })
  writer.commit()
  writer.close()
})
afterAll(() => rmSync(directory, { recursive: true }))

const exported = async (more: Partial<ExportJob>): Promise<Buffer> => {
  const { pieces } = openExport(directory, {
    export: 1,
    format: "simkube",
    cut: recorded.length,
    fromTime: 0,
    untilTime: 2 * minute,
    filters: { excluded_namespaces: [], excluded_labels: [] },
    skipOwned: [],
    excludeOwned: false,
    excludeDaemonSetOwned: false,
    recordedKinds: [replicaSet, pod],
    trackedObjects: { [replicaSet]: {}, [pod]: {} },
    incomplete: {},
    ...more,
  })
  const all: Array<Uint8Array> = []
  for await (const piece of pieces) all.push(piece)
  return Buffer.concat(all)
}

const objectsOf = (trace: Buffer): ReadonlyMap<string, JsonObject> => {
  const reader = new SimkubeTraceReader()
  const items = [...reader.push(trace), ...reader.end()]
  const objects = items.flatMap((item) => (item.type === "applied" ? [item.object] : []))
  return new Map(objects.map((object) => [String((object.metadata as JsonObject).name), object]))
}

describe("an export of objects with their owned ones", () => {
  test("for SimKube keeps references to owners in the trace only, without their UIDs, whichever came first", async () => {
    const objects = objectsOf(await exported({}))
    expect([...objects.keys()].sort()).toEqual(["bare", "inside", "owned-inside", "owned-outside"])
    expect(objects.get("owned-inside")).toEqual({
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        annotations: {},
        name: "owned-inside",
        namespace: "shop",
        ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "inside" }],
      },
      spec: { index: 0 },
    })
    for (const name of ["owned-outside", "bare", "inside"])
      expect(objects.get(name)?.metadata).toEqual({ annotations: {}, name, namespace: "shop" })
  })

  test("for SimKube holds no owner references where owned objects are left out", async () => {
    const objects = objectsOf(await exported({ excludeOwned: true }))
    expect([...objects.keys()].sort()).toEqual(["bare", "inside", "owned-outside"])
    for (const { metadata } of objects.values()) expect(metadata).not.toHaveProperty("ownerReferences")
  })

  test("as NDJSON for replay says what was removed, and still says which object it was", async () => {
    const lines = String(await exported({ format: "ndjson", sanitise: "replay" }))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
    expect(lines[0].sanitised).toEqual({ for: "replay", removed: REMOVED_FOR_REPLAY })
    const owned = lines.find(({ name }) => name === "owned-inside")
    expect([owned.uid, owned.resourceVersion]).toEqual(["uid-owned-inside", "1"])
    expect(owned.object).toEqual({
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name: "owned-inside",
        namespace: "shop",
        ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "inside" }],
      },
      spec: { nodeName: "n", index: 0 },
    })
    expect(lines.find(({ name }) => name === "bare").object.spec).toEqual({ index: 2 })
    expect(lines.find(({ name }) => name === "inside").object.metadata).not.toHaveProperty("ownerReferences")
  })

  test("as NDJSON is what the server sent, unless something else is asked for", async () => {
    const lines = String(await exported({ format: "ndjson" }))
      .trim()
      .split("\n")
    expect(JSON.parse(lines[0] ?? "")).not.toHaveProperty("sanitised")
    expect(lines.join("")).toContain('"status":{"phase":"Running"}')
  })
})
