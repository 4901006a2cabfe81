/**
 * A recording that takes much room on disk, written directly: changes of ConfigMaps with random content, which cannot be compressed. Through a recorder, with
 * objects as a cluster has them, a gigabyte would take an hour.
 */
import { randomBytes } from "node:crypto"
import { statSync } from "node:fs"
import { join } from "node:path"
import { ArchiveWriter } from "../../src/archive/index.ts"
import { APPLIED, FrameEvent, ObservationsBuilder } from "../../src/wire/index.ts"

/** Not among the kinds that the generator has, so a recorder that continues the recording leaves these objects as they are. */
const gvk = "v1.ConfigMap"
const objects = 1000
/** Random bytes of an object; as base64 it is as long as a Deployment. */
const contentBytes = 2000
/** As a store is handed them, and commits. */
const eventsPerFrame = 20
const framesPerCommit = 16
/** µs between two changes. */
const stepMicros = 1000

/** Writes a recording of at least `bytes` on disk into a new directory; its changes end now. */
export const fillRecording = (directory: string, bytes: number): void => {
  const size = (): number => statSync(join(directory, "recording.db")).size
  // A base64 digit is compressed to 6 bits.
  const mostEvents = Math.ceil((2 * bytes) / contentBytes)
  let time = Date.now() * 1000 - mostEvents * stepMicros
  const writer = ArchiveWriter.open(directory, { now: () => time })
  const builder = new ObservationsBuilder(gvk)
  const slab = Buffer.alloc(eventsPerFrame * contentBytes * 2)
  const event = new FrameEvent()
  let version = 0
  try {
    for (let frame = 1; version < mostEvents; frame++) {
      builder.begin(slab, 0)
      for (let more = 0; more < eventsPerFrame; more++) {
        const number = 1 + (version % objects)
        const name = `object-${number}`
        if (version < objects) builder.addObject({ number, uid: `uid-${number}`, namespace: "filled", name })
        version++
        time += stepMicros
        const metadata = { namespace: "filled", name, uid: `uid-${number}`, resourceVersion: String(version) }
        const data = { content: randomBytes(contentBytes).toString("base64") }
        const object = Buffer.from(JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata, data }))
        Object.assign(event, {
          ...{ action: APPLIED, objectNumber: number, timeMicros: time, version: BigInt(version) },
          ...{ bytes: object, end: object.length, fingerprintLow: version, fingerprintHigh: number },
        })
        if (!builder.append(event)) throw new Error("the frame is full")
      }
      builder.completeThrough(String(version))
      writer.append("watcher/filled", 1, frame, Buffer.from(slab.subarray(0, builder.finish())))
      if (frame % framesPerCommit > 0) continue
      writer.commit()
      if (size() >= bytes) return
    }
    throw new Error(`${version} events take ${size()} bytes`)
  } finally {
    writer.close()
  }
}
