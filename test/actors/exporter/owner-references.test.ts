import { beforeEach, describe, expect, test } from "vitest"
import type { ExportJob } from "../../../src/actors/exporter/exporter-interface.ts"
import { type JsonObject, REMOVED_FOR_REPLAY, SimkubeTraceReader } from "../../../src/trace/index.ts"
import { exportOf, recordingOf, referenceTo } from "./owned-recording.ts"

const replicaSet = "apps/v1.ReplicaSet"
const pod = "v1.Pod"

/** Pods come before their owner: the order in which two watchers happen to deliver. */
const recorded: ReadonlyArray<readonly [gvk: string, name: string, owners: ReadonlyArray<JsonObject>]> = [
  [pod, "owned-inside", [referenceTo("ReplicaSet", "inside"), referenceTo("Deployment", "outside")]],
  [pod, "owned-outside", [referenceTo("Deployment", "outside")]],
  [pod, "bare", []],
  [replicaSet, "inside", [referenceTo("Deployment", "outside")]],
]

let directory = ""

beforeEach(() => {
  directory = recordingOf(
    recorded.map(([gvk, name, owners], index) => ({
      gvk,
      name,
      owners,
      metadata: { resourceVersion: String(index + 1), finalizers: ["example.com/held"] },
      rest: { spec: { nodeName: "n", index }, status: { phase: "Running" } },
    })),
  )
})

const exported = (more: Partial<ExportJob>): Promise<Buffer> =>
  exportOf(directory, [replicaSet, pod], { format: "simkube", ...more })

const objectsOf = (trace: Buffer): ReadonlyMap<string, JsonObject> => {
  const reader = new SimkubeTraceReader()
  const items = [...reader.push(trace), ...reader.end()]
  const objects = items.flatMap((item) => (item.type === "applied" ? [item.object] : []))
  return new Map(objects.map((object) => [String((object.metadata as JsonObject).name), object]))
}

describe("an export of objects together with those they own", () => {
  test("for SimKube keeps references only to owners in the trace, without their UIDs, whichever came first", async () => {
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

  test("for SimKube contains no owner references if owned objects are excluded", async () => {
    const objects = objectsOf(await exported({ excludeOwned: true }))
    expect([...objects.keys()].sort()).toEqual(["bare", "inside", "owned-outside"])
    for (const { metadata } of objects.values()) expect(metadata).not.toHaveProperty("ownerReferences")
  })

  test("as NDJSON for replay names what was removed, and still identifies each object", async () => {
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
      spec: { index: 0 },
    })
    expect(lines.find(({ name }) => name === "bare").object.spec).toEqual({ index: 2 })
    expect(lines.find(({ name }) => name === "inside").object.metadata).not.toHaveProperty("ownerReferences")
  })

  test("as NDJSON is what the server sent, unless requested otherwise", async () => {
    const lines = String(await exported({ format: "ndjson" }))
      .trim()
      .split("\n")
    expect(JSON.parse(lines[0] ?? "")).not.toHaveProperty("sanitised")
    expect(lines.join("")).toContain('"status":{"phase":"Running"}')
  })
})
