/** Objects as a server stores them, as a trace in memory, and replays of it into the same cluster. */
import { systemClock } from "../../../src/clock.ts"
import type { ApiClient, ApiObject, Kind, ResourceFinder } from "../../../src/kube/index.ts"
import { parseGvk } from "../../../src/kube/offline.ts"
import type { ReplayReport } from "../../../src/simulation/index.ts"
import { Replay, type ReplayOptions } from "../../../src/simulation/replay/replay.ts"
import {
  type ObjectEvent,
  openDecoder,
  type TraceFormatName,
  type TraceItem,
  writeNdjson,
} from "../../../src/trace/index.ts"
import { plainReplay } from "../../simulation/replay/plain-replay.ts"

/** µs: the moment at which every trace here starts. */
const start = 1_790_000_000_000_000

let sequence = 0

/** A state that an object had at the start, or `second` seconds later. */
export const state = (object: ApiObject, second = 0, action: ObjectEvent["action"] = "applied"): ObjectEvent => ({
  type: "object",
  sequence: ++sequence,
  time: start + second * 1_000_000,
  gvk: gvkOf(object),
  action,
  uid: object.metadata.uid ?? "",
  namespace: object.metadata.namespace ?? "",
  name: object.metadata.name,
  resourceVersion: object.metadata.resourceVersion ?? "",
  object: Buffer.from(JSON.stringify(object)),
})

export const gvkOf = ({ apiVersion, kind }: ApiObject): string => `${apiVersion}.${kind}`

/** The kind of an object, found by discovery. */
export const kindOf = (finder: ResourceFinder, object: ApiObject): Promise<Kind> => {
  const gvk = parseGvk(gvkOf(object))
  if (gvk === undefined) throw new Error(`${gvkOf(object)} is no GVK`)
  return finder.find(gvk)
}

/** The NDJSON file with these objects at its start and these events. */
export const ndjson = (snapshot: ReadonlyArray<ApiObject>, events: ReadonlyArray<ObjectEvent> = []): Uint8Array => {
  const states = snapshot.map((object) => state(object))
  const kinds = [...new Set([...states, ...events].map(({ gvk }) => gvk))]
  const window = { start, end: start + 10_000_000 }
  return Buffer.concat([...writeNdjson({ window, cut: 0, kinds, incomplete: [] }, states, events)])
}

/** The items of a file whose pieces may come late. */
export async function* itemsOf(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  format: TraceFormatName = "ndjson",
): AsyncGenerator<Iterable<TraceItem>> {
  const decoder = await openDecoder(format)
  for await (const piece of pieces) yield decoder.push(piece)
  yield decoder.end()
}

/** Replays a trace at full speed and leaves everything in the cluster, unless told otherwise. */
export const replay = (
  client: ApiClient,
  name: string,
  items: ReplayOptions["items"],
  options: Partial<ReplayOptions> = {},
): Promise<ReplayReport> =>
  new Replay({
    ...plainReplay(client, name, items, systemClock.wallMicros()),
    onLag: "fail",
    keep: true,
    // The cluster of the tests is also the one that they record.
    intoRecordedCluster: true,
    ...options,
  }).run()
