/** What views read of an object: total for objects of any structure; only bytes that are not a JSON object are an error. */

import type { ObjectEvent } from "../../event.ts"
import { UnwritableTraceError } from "../../formats/format.ts"
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  MalformedJsonError,
  parseExactJson,
} from "../../json/exact-json.ts"
import { textIn } from "../../json/members.ts"
import { namespacedName } from "../../trace-item.ts"

/** The object of an event; `undefined` if the event has none. @throws UnwritableTraceError */
export const objectOf = (event: ObjectEvent, view: string): JsonObject | undefined => {
  if (event.object.length === 0) return undefined
  return guarded(event, view, () => {
    const object = parseExactJson(event.object)
    if (!isJsonObject(object)) throw unwritable(event, view, "its object is not a JSON object")
    return object
  })
}

/**
 * Runs what walks through an object. An object that is nested too deeply for the engine's stack is an error of the trace.
 * @throws UnwritableTraceError
 */
export const guarded = <Result>(event: ObjectEvent, view: string, run: () => Result): Result => {
  try {
    return run()
  } catch (error) {
    if (error instanceof MalformedJsonError) throw unwritable(event, view, `its object is ${error.message}`)
    if (error instanceof RangeError) throw unwritable(event, view, "its object is nested too deeply")
    throw error
  }
}

const unwritable = ({ gvk, namespace, name }: ObjectEvent, view: string, problem: string): UnwritableTraceError => {
  const [kind, object] = [gvk, namespacedName(namespace, name)].map((each) =>
    each.length > LONGEST_NAME ? `${each.slice(0, LONGEST_NAME)}…` : each,
  )
  return new UnwritableTraceError({ format: view, detail: `${kind} ${object}: ${problem}` })
}

/** More than the names of Kubernetes have. */
const LONGEST_NAME = 320

/** A text in a member that is not empty. */
export const givenText = (value: JsonValue | undefined, name: string): string | undefined =>
  textIn(value, name) || undefined

/** The whole seconds of a time as Kubernetes writes it, in µs since the Unix epoch; `undefined` if it is none. */
export const microsIn = (value: JsonValue | undefined, name: string): number | undefined => {
  const text = givenText(value, name)
  if (text === undefined || !rfc3339.test(text)) return undefined
  const milliseconds = Date.parse(text)
  return Number.isNaN(milliseconds) ? undefined : Math.floor(milliseconds / 1000) * 1_000_000
}

/** `Date.parse` accepts much more than this. */
const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/
