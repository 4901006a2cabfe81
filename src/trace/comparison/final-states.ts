/** The last states of some objects of a trace, read in a second pass: of as many as fit into memory. */
import type { JsonValue } from "../json/exact-json.ts"
import { type ComparedFields, comparedObject } from "./compared-object.ts"
import { objectEvents, type TracePass } from "./trace-pass.ts"

/** bytes of recorded objects that are kept of a trace. */
const mostBytes = 64 * 1024 * 1024

interface WantedStates {
  /** By the place of its event among those that are taken: the number of the object. */
  readonly wanted: ReadonlyMap<number, number>
  readonly fields: ComparedFields
}

/** By number of object. Objects beyond the limit are missing. Rejects as the pass does. */
export const finalStates = async (
  pass: TracePass,
  { wanted, fields }: WantedStates,
): Promise<ReadonlyMap<number, JsonValue>> => {
  const states = new Map<number, JsonValue>()
  let left = mostBytes
  let place = 0
  for await (const event of objectEvents(pass)) {
    const number = wanted.get(place++)
    if (number === undefined || event.object.length > left) continue
    left -= event.object.length
    states.set(number, comparedObject(event.gvk, event.object, fields))
  }
  return states
}
