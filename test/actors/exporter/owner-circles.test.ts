/** Owners that own each other, and owners that come later than what they own, in exports of a recording. */
import { expect, test } from "vitest"
import type { ExportJob } from "../../../src/actors/exporter/definition.ts"
import { openExport } from "../../../src/actors/exporter/open-export.ts"
import { ArchiveWriter } from "../../../src/trace/archive/archive-writer.ts"
import { isJsonObject, parseExactJson } from "../../../src/trace/exact-json.ts"
import { openDecoder } from "../../../src/trace/formats/codecs.ts"
import { ObservationsBuilder } from "../../../src/trace/observations.ts"
import { temporaryDirectory } from "../../trace/archive/sample-frames.ts"

const gvk = "apps/v1.Deployment"
const minute = 60_000_000

/** A recording of objects with their owners, in the order in which they came. */
const recordingOf = (objects: ReadonlyArray<readonly [name: string, ...owners: ReadonlyArray<string>]>): string => {
  const directory = temporaryDirectory()
  const writer = ArchiveWriter.open(directory)
  const memory = Buffer.alloc(64 * 1024)
  for (const [index, [name, ...owners]] of objects.entries()) {
    const builder = new ObservationsBuilder(gvk)
    const ownerReferences = owners.map((owner) => ({
      apiVersion: "apps/v1",
      kind: "Deployment",
      name: owner,
      uid: `uid-${owner}`,
    }))
    const metadata = { name, namespace: "shop", uid: `uid-${name}`, ...(owners.length > 0 && { ownerReferences }) }
    const object = Buffer.from(JSON.stringify({ metadata, spec: { index } }))
    builder.begin(memory, 0)
    builder.addObject({
      number: 1 + index,
      uid: `uid-${name}`,
      namespace: "shop",
      name,
      ownerReferences: Buffer.from(JSON.stringify(ownerReferences)),
    })
    if (!builder.append(1, 1 + index, minute + index, index + 1, index, 0, object, 0, object.length))
      throw new Error("the frame is too small")
    writer.append("watcher", 1, index + 1, memory.subarray(0, builder.finish()))
  }
  writer.commit()
  writer.close()
  return directory
}

/** Names of the objects in an export, each with the names of its owners. */
const exported = async (directory: string, format: ExportJob["format"], excludeOwned: boolean) => {
  const { pieces } = openExport(directory, {
    export: 1,
    format,
    cut: Number.MAX_SAFE_INTEGER,
    fromTime: 0,
    untilTime: 2 * minute,
    filters: { excluded_namespaces: [], excluded_labels: [] },
    skipOwned: [],
    excludeOwned,
    excludeDaemonSetOwned: false,
    recordedKinds: [gvk],
    trackedObjects: { [gvk]: {} },
    incomplete: {},
  })
  const decoder = await openDecoder(format)
  const all: Array<Uint8Array> = []
  for await (const piece of pieces) all.push(piece)
  const items = [...decoder.push(Buffer.concat(all)), ...decoder.end()]
  return Object.fromEntries(
    items.flatMap((item) => {
      if (item.type !== "event" || item.event.type !== "object") return []
      const object = parseExactJson(item.event.object)
      const metadata = isJsonObject(object) ? object.metadata : undefined
      const references = isJsonObject(metadata) ? metadata.ownerReferences : undefined
      const owners = Array.isArray(references) ? references.map((each: { readonly name: string }) => each.name) : []
      return [[item.event.name, owners]]
    }),
  )
}

test.each(["ndjson", "simkube", "kwok"] as const)(
  "objects that own themselves or each other are in a %s trace that leaves owned objects out; what they own is not",
  async (format) => {
    const directory = recordingOf([
      ["alone", "alone"],
      ["one", "other"],
      ["other", "one"],
      ["child", "one"],
      ["ring", "ring", "top"],
      ["top"],
    ])
    expect(Object.keys(await exported(directory, format, true))).toEqual(["alone", "one", "other", "top"])
  },
)

test.each(["simkube", "kwok"] as const)(
  "an owner reference stays in a %s trace if its owner is in it, before or after",
  async (format) => {
    const directory = recordingOf([["first", "later", "elsewhere"], ["later"], ["last", "later"]])
    expect(await exported(directory, format, false)).toEqual({ first: ["later"], later: [], last: ["later"] })
  },
)
