/** Assembles the file of a SimKube trace from its parts, in chunks: the only module that knows the order of its sections. */

import { MessagePackWriter } from "./message-pack/message-pack-writer.ts"
import type { SimkubeEvents } from "./simkube-events.ts"
import { type OwnedLifecycles, type PodLifecycle, SIMKUBE_TRACE_VERSION } from "./simkube-trace.ts"

/** Entries of a map, in the order of the file. */
type Sized<Value> = Iterable<readonly [key: string, value: Value]> & { readonly size: number }

/** GVK → `namespace/name` → H of the object's spec. */
type SimkubeIndex = Sized<Sized<bigint>>

/** Returned chunks are about this large. */
const CHUNK_BYTES = 64 * 1024

/**
 * The file, in chunks of about 64 KiB, each with memory of its own. `config` is already MessagePack. `events` are complete; `lifecycles`
 * are written as they come, and iterated when the index is written.
 *
 * @throws SpoolError
 */
export function* writeSimkubeFile(
  config: Uint8Array,
  events: SimkubeEvents,
  index: SimkubeIndex,
  lifecycles: Iterable<OwnedLifecycles>,
): Generator<Uint8Array> {
  const out = new MessagePackWriter(2 * CHUNK_BYTES)
  out.writeMapHeader(5)
  out.writeString("version")
  out.writeInteger(SIMKUBE_TRACE_VERSION)
  out.writeString("config")
  out.writeEncoded(config)
  out.writeString("events")
  out.writeArrayHeader(events.count)
  for (const piece of events.read()) {
    out.writeEncoded(piece)
    if (out.length >= CHUNK_BYTES) yield taken(out)
  }
  out.writeString("index")
  out.writeMapHeader(index.size)
  for (const [gvk, names] of index) {
    out.writeString(gvk)
    out.writeMapHeader(names.size)
    for (const [name, hash] of names) {
      out.writeString(name)
      out.writeInteger(hash)
      if (out.length >= CHUNK_BYTES) yield taken(out)
    }
  }
  out.writeString("pod_lifecycles")
  writeLifecycles(out, lifecycles)
  yield taken(out)
}

const writeLifecycles = (out: MessagePackWriter, lifecycles: Iterable<OwnedLifecycles>): void => {
  const entries = new MessagePackWriter()
  let count = 0
  for (const { gvk, owner, pods } of lifecycles) {
    count++
    entries.writeValue([gvk, owner])
    entries.writeMapHeader(pods.size)
    for (const [hash, list] of pods) {
      entries.writeInteger(hash)
      entries.writeArrayHeader(list.length)
      for (const lifecycle of list) entries.writeValue(lifecycleValue(lifecycle))
    }
  }
  out.writeMapHeader(count)
  out.writeEncoded(entries.view())
}

const lifecycleValue = (lifecycle: PodLifecycle): string | ReadonlyMap<string, number | ReadonlyArray<number>> => {
  switch (lifecycle.state) {
    case "empty":
      return "Empty"
    case "running":
      return new Map([["Running", lifecycle.start]])
    case "finished":
      return new Map([["Finished", [lifecycle.start, lifecycle.end]]])
  }
}

/** The contents of the writer as a separate chunk. */
const taken = (writer: MessagePackWriter): Uint8Array => {
  const chunk = new Uint8Array(writer.view())
  writer.clear()
  return chunk
}
