/**
 * Loaded into a process and its threads before anything else (`--import`): makes its wall clock one that a test sets, as people and NTP set that of a
 * machine. The file that `SETTABLE_CLOCK` names contains by how many ms it differs from the machine's.
 */
import { readFileSync } from "node:fs"

const file = process.env.SETTABLE_CLOCK ?? ""
const machine = Date.now
/** ms between two looks into the file. */
const lookEveryMs = 20
let offset = 0
let lookedAt = Number.NEGATIVE_INFINITY

Date.now = () => {
  const now = performance.now()
  if (now - lookedAt >= lookEveryMs) {
    lookedAt = now
    offset = Number(readFileSync(file, "utf8"))
  }
  return machine() + offset
}
