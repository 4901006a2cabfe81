/**
 * What SimKube's driver cannot do with an export, known before the export begins: from the first objects of each kind that could be
 * concerned. Those are few: all that SimKube knows but ReplicaSets are fine.
 */
import { DriverLimits } from "../../trace/formats/simkube/driver-limits.ts"
import type { TrackedObjects } from "../../trace/formats/simkube/simkube-config.ts"
import { exactJsonIn, isJsonObject } from "../../trace/json/exact-json.ts"
import type { ExportWindow } from "./export-window.ts"

/** Objects and changes of a kind that are looked at, and how many of those that are filtered out. */
const mostObjects = 20
const mostLooked = 1000

/** @param windowOf reads the export's window for one kind only */
export const driverWarnings = (
  trackedObjects: TrackedObjects,
  kinds: ReadonlyArray<string>,
  windowOf: (gvk: string) => ExportWindow,
): ReadonlyArray<string> => {
  const limits = new DriverLimits(trackedObjects)
  for (const gvk of kinds) if (limits.concerns(gvk)) look(limits, gvk, windowOf(gvk))
  return limits.warnings
}

const look = (limits: DriverLimits, gvk: string, window: ExportWindow): void => {
  let [objects, looked] = [0, 0]
  for (const events of [window.snapshot(), window.events()])
    for (const event of events) {
      if (++looked > mostLooked || objects === mostObjects) return
      if (event?.type !== "object" || event.action !== "applied") continue
      objects++
      // The export itself reports what is not JSON.
      const object = exactJsonIn(event.object)
      if (isJsonObject(object)) limits.observe(gvk, event.namespace, object)
    }
}
