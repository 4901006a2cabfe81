/** Reads a stream of segments that all wait for the last one, in a thread with little memory, and sends how many counted. */
import { parentPort, workerData } from "node:worker_threads"
import { StreamReader } from "../../../src/fleet/index.ts"
import { segmentKey } from "../../../src/fleet/segment/segment-reader.ts"
import { MadeStream } from "../made-stream.ts"

const segments = Number(workerData)

const kinds = Array.from({ length: 50 }, (_, index) => ({
  ...{ gvk: `group${index}.example.com/v1.Kind${index}`, events: 7, gaps: 0, fromTime: 1_700_000_000_000_000 + index },
  ...{ toTime: 1_700_000_000_000_000 + index, firstVersion: `1000${index}`, lastVersion: `2000${index}` },
}))

const stream = new MadeStream()
for (let number = 1; number <= segments; number++) stream.add({ isWhole: number === segments, kinds })
const reader = await StreamReader.open(stream.store)
let counted = 0
for await (const { facts, rows } of reader.segments()) {
  if (facts.number !== ++counted) throw new Error(`${segmentKey(facts.number)} follows ${counted - 1}`)
  await rows()
}
parentPort?.postMessage(counted)
