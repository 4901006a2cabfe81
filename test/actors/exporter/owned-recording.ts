/** Recordings of objects with owners, and exports of them. */
import type { ExportJob } from "../../../src/actors/exporter/exporter-interface.ts"
import { type OpenExport, openExport } from "../../../src/actors/exporter/open-export.ts"
import { ArchiveWriter } from "../../../src/archive/index.ts"
import type { JsonObject } from "../../../src/trace/index.ts"
import { APPLIED, DELETED, ObservationsBuilder } from "../../../src/wire/index.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { frameEvent } from "../../wire/frame-events.ts"
import { exportJob } from "./export-job.ts"

const minute = 60_000_000

export interface OwnedObject {
  readonly gvk: string
  /** In the namespace `shop`, with the UID `uid-NAME`. */
  readonly name: string
  readonly owners: ReadonlyArray<JsonObject>
  /** Whether this is its end. Default: false. */
  readonly isDeleted?: boolean
  /** Beside name, namespace, uid and owner references. */
  readonly metadata?: JsonObject
  /** Beside metadata. */
  readonly rest: JsonObject
}

/** An owner reference to one of them. */
export const referenceTo = (kind: string, name: string): JsonObject => ({
  apiVersion: "apps/v1",
  kind,
  name,
  uid: `uid-${name}`,
})

/** A directory with a recording of the objects, in the order in which they came; one may come several times. */
export const recordingOf = (objects: ReadonlyArray<OwnedObject>): string => {
  const directory = temporaryDirectory()
  const writer = ArchiveWriter.open(directory)
  const memory = Buffer.alloc(64 * 1024)
  const names = [...new Set(objects.map(({ name }) => name))]
  for (const [index, { gvk, name, owners, isDeleted, metadata, rest }] of objects.entries()) {
    const builder = new ObservationsBuilder(gvk)
    const uid = `uid-${name}`
    const all = { ...metadata, name, namespace: "shop", uid, ...(owners.length > 0 && { ownerReferences: owners }) }
    const object = Buffer.from(JSON.stringify({ metadata: all, ...rest }))
    builder.begin(memory, 0)
    const ownerReferences = Buffer.from(JSON.stringify(owners))
    const number = 1 + names.indexOf(name)
    builder.addObject({ number, uid, namespace: "shop", name, ownerReferences })
    const action = isDeleted === true ? DELETED : APPLIED
    const event = {
      action,
      objectNumber: number,
      timeMicros: minute + index,
      version: index + 1,
      fingerprintLow: index,
    }
    if (!builder.append(frameEvent({ ...event, bytes: object }))) throw new Error("the frame is too small")
    writer.append(`watcher/${gvk}`, 1, index + 1, memory.subarray(0, builder.finish()))
  }
  writer.commit()
  writer.close()
  return directory
}

type Wanted = Pick<ExportJob, "format"> & Partial<ExportJob>

/** An export of all of it, including owned objects unless requested otherwise. */
export const openedExport = (directory: string, kinds: ReadonlyArray<string>, job: Wanted): OpenExport =>
  openExport(
    { directory, transformer: new URL("../../../dist/workers/transform.js", import.meta.url) },
    exportJob(kinds, { untilTime: 2 * minute, recordedKinds: kinds, ...job }),
  )

/** Its bytes. */
export const exportOf = async (directory: string, kinds: ReadonlyArray<string>, job: Wanted): Promise<Buffer> => {
  const { pieces } = openedExport(directory, kinds, job)
  const all: Array<Uint8Array> = []
  for await (const piece of pieces) all.push(piece)
  return Buffer.concat(all)
}
