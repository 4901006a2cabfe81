/** A writer in its own process, to be killed: removes all of the recording in a directory that no pin keeps, and writes a line for each step. */
import { writeSync } from "node:fs"
import { setImmediate as turn } from "node:timers/promises"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"

const [directory = "", nowMicros = "0"] = process.argv.slice(2)
const writer = ArchiveWriter.open(directory, {
  now: () => Number(nowMicros),
  limits: { retention: { stride: { blocks: 3, events: 100, rows: 20 }, collectAfter: 10, reserveBytes: 4096 } },
})
writer.retention.setPolicy({ forMicros: 1_000_000, kinds: new Map() })
while (writer.retention.step(() => true)) {
  writeSync(1, "step\n")
  await turn()
}
writer.close()
writeSync(1, "done\n")
