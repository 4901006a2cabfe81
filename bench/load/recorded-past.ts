/**
 * A recording of a long past, written directly, without a server: changes of Deployments of 2.9 kB, committed as a store commits. Every object changes at random;
 * one of them has a hundredth of the changes, at most 1,000. There are a hundredth as many objects as changes, in 50 namespaces.
 */
import { ArchiveWriter } from "../../src/archive/index.ts"
import { APPLIED, FrameEvent, ObservationsBuilder } from "../../src/wire/index.ts"
import { deployments, gvkOf } from "./bench-kinds.ts"
import { objectText } from "./bench-objects.ts"
import { firstVersion, ObjectTemplate } from "./object-template.ts"

/** µs since the Unix epoch, and between two changes. */
export const start = 1_763_700_000_000_000
export const stepMicros = 1000
/** Objects of a state that are asked for; no recording has fewer. */
export const page = 500
/** The object that changes most. */
export const hotObject = { namespace: "namespace-1", name: "web-000001" } as const
/** A store's frames and commits: 64 KiB, and a commit for each MiB. */
const frameBytes = 64 * 1024
const framesPerCommit = 16

export interface RecordedPast {
  readonly directory: string
  readonly events: number
  readonly objects: number
  /** Changes of the object that changes most, number 1. */
  readonly hot: number
}

/** Numbers below a limit, the same in every run. */
const randomness = (): ((limit: number) => number) => {
  let state = 1
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
}

/** Writes it into a new directory, of objects that stand under `gvk`. */
export const recordPast = (directory: string, events: number, gvk = gvkOf(deployments)): RecordedPast => {
  const objects = Math.max(page, Math.floor(events / 100))
  const hotEvery = Math.max(100, Math.ceil(events / 1000))
  const writer = ArchiveWriter.open(directory, { now: () => start })
  const template = new ObjectTemplate(objectText(deployments, 0))
  const bytes = Buffer.alloc(template.bytes.length)
  const slab = Buffer.alloc(frameBytes + 64 * 1024)
  const builder = new ObservationsBuilder(gvk)
  const event = new FrameEvent()
  const random = randomness()
  const seen = new Uint8Array(objects + 1)
  let [frame, hot] = [0, 0]
  for (let next = 0; next < events; ) {
    builder.begin(slab, 0)
    for (let used = 0; used < frameBytes - 2 * bytes.length && next < events; used += bytes.length, next++) {
      const isListed = next < objects
      const number = isListed ? next + 1 : next % hotEvery === 0 ? 1 : 2 + random(objects - 1)
      if (number === 1) hot++
      const version = firstVersion + next
      template.copyTo(bytes, 0, number, version)
      if (seen[number] === 0) {
        seen[number] = 1
        // What the object itself says.
        const { uid, name } = JSON.parse(bytes.toString()).metadata
        builder.addObject({ number, uid, namespace: `namespace-${number % 50}`, name })
      }
      Object.assign(event, {
        ...{
          action: APPLIED,
          objectNumber: number,
          timeMicros: start + next * stepMicros,
          version: BigInt(version),
          bytes,
        },
        // As random as those of a recorder.
        ...{ fingerprintLow: random(2 ** 32), fingerprintHigh: random(2 ** 32), end: bytes.length },
      })
      if (!builder.append(event)) throw new Error("the frame is full")
    }
    builder.completeThrough(String(firstVersion + next - 1))
    frame++
    writer.append("watcher/bench", 1, frame, Buffer.from(slab.subarray(0, builder.finish())))
    if (frame % framesPerCommit > 0) continue
    writer.commit()
    // A recorder's store merges blocks in pauses.
    while (writer.retention.step(() => false));
  }
  writer.commit()
  writer.close()
  return { directory, events, objects, hot }
}
