/** Exports through a program: the trace is that of an export to which the program was applied afterwards. */
import { beforeEach, describe, expect, test } from "vitest"
import type { ExportJob } from "../../../src/actors/exporter/exporter-interface.ts"
import {
  convertTrace,
  decodedItems,
  memorySpool,
  openDecoder,
  openEncoder,
  SimkubeTraceReader,
  simkubeHash,
} from "../../../src/trace/index.ts"
import { noTransformation, parseProgram, runBatch, transformedItems } from "../../../src/trace/transform/index.ts"
import { exportOf, openedExport, recordingOf, referenceTo } from "./owned-recording.ts"

const deployment = "apps/v1.Deployment"
const replicaSet = "apps/v1.ReplicaSet"

const template = { spec: { containers: [{ name: "app", image: "app:1" }] } }
const web = (replicas: number) => ({
  gvk: deployment,
  name: "web",
  owners: [],
  rest: { apiVersion: "apps/v1", kind: "Deployment", spec: { replicas, template } },
})
const owned = {
  gvk: replicaSet,
  name: "web-1",
  owners: [referenceTo("Deployment", "web")],
  rest: { apiVersion: "apps/v1", kind: "ReplicaSet", spec: { replicas: 1, template } },
}

let directory = ""
beforeEach(() => {
  directory = recordingOf([web(1), owned, web(2), web(3)])
})

const exported = (text: string, more: Pick<ExportJob, "format"> & Partial<ExportJob>): Promise<Buffer> =>
  exportOf(directory, [deployment, replicaSet], { program: parseProgram(text), ...more })

describe("an export through a program", () => {
  const text = `modify(kind == "Deployment" && spec.replicas > 2, spec.replicas = 2); delete(kind == "ReplicaSet"); remove(metadata.uid);`

  test("as NDJSON is what the program makes of the export without it", async () => {
    const plain = await exportOf(directory, [deployment, replicaSet], { format: "ndjson" })
    const program = parseProgram(text)
    const encoder = await openEncoder("ndjson", { spool: memorySpool })
    const items = decodedItems(
      (async function* () {
        yield plain
      })(),
      await openDecoder("ndjson"),
    )
    const options = { program, run: runBatch, lanes: 1, samples: 0 }
    const out: Uint8Array[] = []
    for await (const piece of convertTrace(transformedItems(items, options, noTransformation(program)), encoder))
      out.push(piece)
    expect(String(await exported(text, { format: "ndjson" }))).toBe(String(Buffer.concat(out)))
  })

  test("in SimKube's format has its index, and no reference to what is not in it", async () => {
    const reader = new SimkubeTraceReader()
    const trace = await exported('delete(kind == "Deployment"); modify(spec.replicas = 7);', { format: "simkube" })
    const items = [...reader.push(trace), ...reader.end()]
    const applied = items.flatMap((item) => (item.type === "applied" ? [item.object] : []))
    expect(applied).toMatchObject([{ kind: "ReplicaSet", spec: { replicas: 7 } }])
    expect(applied[0]?.metadata).not.toHaveProperty("ownerReferences")
    expect(items.filter(({ type }) => type === "index")).toEqual([
      { type: "index", gvk: replicaSet, name: "shop/web-1", hash: simkubeHash({ replicas: 7, template }) },
    ])
  })

  test("keeps references to what is in the trace, and lists what a replay does not need", async () => {
    const opened = openedExport(directory, [deployment, replicaSet], {
      format: "simkube",
      program: parseProgram("modify(spec.replicas = 1);"),
    })
    const reader = new SimkubeTraceReader()
    const items = []
    for await (const piece of opened.pieces) items.push(...reader.push(piece))
    items.push(...reader.end())
    const references = items.flatMap((item) =>
      item.type === "applied" ? [item.object.metadata as unknown as { name: string; ownerReferences?: object }] : [],
    )
    expect(references.map(({ name, ownerReferences }) => [name, ownerReferences !== undefined])).toEqual([
      ["web", false],
      ["web-1", true],
    ])
    expect(opened.unchanged()).toBe(2)
  })

  test("as kwok's recording has what the program leaves", async () => {
    const trace = String(await exported('delete(kind == "ReplicaSet");', { format: "kwok" }))
    expect(trace).toContain("kind: Deployment")
    expect(trace).not.toContain("kind: ReplicaSet")
  })

  test("that cannot be carried out fails, with the object", async () => {
    await expect(exported("remove(kind);", { format: "ndjson" })).rejects.toThrow("shop/web at ")
  })
})
