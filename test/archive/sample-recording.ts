/** A recording with a bit of everything: several kinds, blocks and checkpoints, parts of an open block, gaps, late changes, owners, lives of pods. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { ArchiveWriter } from "../../src/archive/archive-writer.ts"
import { DATABASE_FILE } from "../../src/archive/tables/schema.ts"
import { addChecksumFunction } from "../../src/archive/tables/sound-rows.ts"
import { type Gap, ObservationsBuilder } from "../../src/wire/index.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { frameEvent } from "../wire/frame-events.ts"
import { fingerprintOf, gapAt, START } from "./sample-frames.ts"

/** The recorded kinds. */
export const sampleKinds = ["apps/v1.ReplicaSet", "v1.ConfigMap", "v1.Pod"] as const

/** Second of the recording at which tests begin to export: its first half is then a snapshot. */
export const sampleMiddle = START + 60_000_000

/** Events of each kind, one a second and kind, if nothing else is said. */
const usualSeconds = 120

const owner = (number: number): Buffer =>
  Buffer.from(
    JSON.stringify([
      {
        ...{ apiVersion: "apps/v1", kind: "ReplicaSet", name: `replica-set-${number}` },
        ...{ uid: `uid-apps/v1.ReplicaSet-${number}`, controller: true },
      },
    ]),
  )

/** Deterministic text that does not compress away. */
const filler = (seed: number, length: number): string => {
  let state = seed * 2654435761
  let text = ""
  while (text.length < length) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    text += state.toString(36)
  }
  return text.slice(0, length)
}

/** One frame: the change of one object of a kind in one second. */
const frameOf = (gvk: string, second: number, seconds: number, isNew: boolean, number: number): Buffer => {
  const builder = new ObservationsBuilder(gvk, { tracksPods: gvk === "v1.Pod" })
  const slab = Buffer.alloc(16 * 1024)
  builder.begin(slab, 0)
  const time = START + second * 1_000_000
  const ownerReferences = gvk === "v1.Pod" ? owner(1 + (number % 3)) : undefined
  const owned = ownerReferences === undefined ? {} : { ownerReferences }
  const name = {
    uid: `uid-${gvk}-${number}`,
    namespace: "shop",
    name: `${gvk === "v1.Pod" ? "pod" : "replica-set"}-${number}`,
  }
  const metadata = {
    ...{ name: name.name, namespace: name.namespace, uid: name.uid },
    ...(ownerReferences !== undefined && { ownerReferences: JSON.parse(ownerReferences.toString()) }),
  }
  const [apiVersion, kind] = gvk.includes("/") ? ["apps/v1", "ReplicaSet"] : ["v1", gvk.slice(3)]
  const object = JSON.stringify({ apiVersion, kind, metadata, data: { second, filler: filler(second, 700) } })
  const isLast = second > seconds - 10
  const [fingerprintLow, fingerprintHigh] = fingerprintOf(object)
  const isTaken = [
    !isNew || builder.addObject({ number, ...name, ...owned }),
    builder.append(
      frameEvent({
        ...{ action: isLast ? 2 : 1, objectNumber: number, timeMicros: time, version: 100 + second },
        ...{ fingerprintLow, fingerprintHigh, bytes: Buffer.from(object) },
      }),
    ),
    second !== 70 || builder.addGap(gapAt(time) satisfies Gap),
    gvk !== "v1.Pod" || !isNew
      ? true
      : builder.addPodLife({
          ...{ pod: number, time, start: Math.floor(time / 1e6), end: undefined, gone: false },
          identity: { uid: name.uid, namespace: "shop", name: name.name, specHash: BigInt(number) * 3n },
          ...owned,
        }),
    builder.completeThrough(String(100 + second)),
  ]
  if (isTaken.includes(false)) throw new Error("the sample does not fit into its frame")
  return slab.subarray(0, builder.finish())
}

/** Records the sample. Until the caller closes the writer, the last changes are in the log. */
export const recordSample = (directory: string, seconds = usualSeconds): ArchiveWriter => {
  const writer = ArchiveWriter.open(directory, {
    now: () => START + seconds * 1_000_000,
    limits: { blockBytes: 12_000, blocksPerCheckpoint: 4 },
  })
  const objects = 9
  for (let second = 0; second < seconds; second++) {
    for (const [index, gvk] of sampleKinds.entries()) {
      const number = 1 + (second % objects)
      writer.append(`watcher/${index}`, 1, second + 1, frameOf(gvk, second, seconds, second < objects, number))
    }
    if (second % 3 === 0) writer.commit()
  }
  writer.metadata.set("clusterUid", "cluster-1")
  writer.commit()
  return writer
}

/** By seconds, the databases of samples. */
const recorded = new Map<number, Buffer>()

/** A directory of its own with the sample, whose writer has ended. It is recorded once, and copied. */
export const sample = (seconds = usualSeconds): string => {
  const directory = temporaryDirectory()
  const path = join(directory, DATABASE_FILE)
  const known = recorded.get(seconds)
  if (known === undefined) {
    recordSample(directory, seconds).close()
    recorded.set(seconds, readFileSync(path))
  } else writeFileSync(path, known, { mode: 0o600 })
  return directory
}

/** The database of a recording that no writer has open, for statements that keep its checksums right. */
export const withDatabase = <Result>(directory: string, use: (database: DatabaseSync) => Result): Result => {
  const database = new DatabaseSync(join(directory, DATABASE_FILE))
  try {
    addChecksumFunction(database)
    return use(database)
  } finally {
    database.close()
  }
}

/** Changes the database behind the back of its checksums: SQLite recomputes those of rows, so the row keeps another's. */
export const damage = (directory: string, ...statements: ReadonlyArray<string>): void => {
  const database = new DatabaseSync(join(directory, DATABASE_FILE))
  try {
    database.function("row_checksum", { deterministic: true, varargs: true }, () => 1)
    for (const statement of statements) database.exec(statement)
  } finally {
    database.close()
  }
}
