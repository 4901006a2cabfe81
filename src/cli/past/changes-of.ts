/** The changes of all places as one history: in the order of their times, each once, although two recordings may have it. */

import type { Resource } from "../../apiserver/index.ts"
import { formatGvk } from "../../kube/offline.ts"
import { isJsonObject, type JsonObject } from "../../trace/index.ts"
import type { AskedPast } from "./asking.ts"
import { askPast, type PastParameters } from "./past-client.ts"
import { builtinResource, customResource, unknownResource } from "./past-table.ts"

interface Position {
  readonly answer: AsyncGenerator<JsonObject, void, void>
  change: JsonObject
}

/** Each change as the recorder describes it. What is missing is noted; a field that was asked for and that nothing has is said. */
export async function* changesOf(
  { places, signal, lacks, say }: AskedPast,
  parameters: PastParameters,
): AsyncGenerator<JsonObject, void, void> {
  let isFound = parameters.field === undefined
  const ended = (end: JsonObject): void => {
    isFound ||= end.hasField !== false
    lacks(end)
  }
  const positions: Position[] = []
  const advance = async (position: Position): Promise<boolean> => {
    const next = await position.answer.next()
    if (next.done !== true) position.change = next.value
    return next.done !== true
  }
  try {
    for (const place of places) {
      const position: Position = { answer: askPast(place, "changes", parameters, signal, ended), change: {} }
      if (await advance(position)) positions.push(position)
    }
    const recent = new Set<string>()
    while (positions.length > 0) {
      const position = positions.reduce((first, other) => (timeIn(other) < timeIn(first) ? other : first))
      const { change } = position
      const isMoving = await advance(position)
      if (!isMoving) positions.splice(positions.indexOf(position), 1)
      if (places.length > 1) {
        const isFirst = change.type === "created" || change.type === "appeared"
        const key = [change.uid, change.resourceVersion, isFirst ? "changed" : change.type].join(" ")
        if (recent.has(key)) continue
        recent.add(key)
      }
      isFound = true
      yield change
    }
  } finally {
    // The consumer may leave before the last change, and no answer may stay open then.
    for (const { answer } of positions) await answer.return()
  }
  if (!isFound) say(`no matching object has the field ${parameters.field}; check the spelling of --field`, true)
}

const timeIn = ({ change }: Position): number => Number(change.time)

/** The object of a change; empty if it was not asked for, or there is none. */
export const objectOf = ({ object }: JsonObject): JsonObject => (isJsonObject(object) ? object : {})

// The objects of one kind at a moment, of all places as one past.

/** The objects of all places, in the order of names within each; of two states of one object the one that was recorded later counts. */
export async function* objectsOf(
  asking: AskedPast,
  kind: string,
  parameters: PastParameters,
): AsyncGenerator<JsonObject, void, void> {
  const { places, isOne, signal, lacks } = asking
  const [only, ...others] = places
  if (only !== undefined && others.length === 0) {
    yield* askPast(only, "objects", { ...parameters, kind }, signal, lacks)
    return
  }
  const found = new Map<string, JsonObject>()
  const ends: JsonObject[] = []
  for (const place of places)
    for await (const item of askPast(place, "objects", { ...parameters, kind }, signal, (end) => ends.push(end))) {
      const key = `${item.namespace}/${item.name}`
      const known = found.get(key)
      if (known === undefined || Number(known.time) <= Number(item.time)) found.set(key, item)
    }
  // One recording that has all of the moment is enough, but a shard has a part only.
  if (isOne || !ends.some(({ isComplete }) => isComplete === true)) for (const end of ends) lacks(end)
  yield* [...found].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, item]) => item)
}

const definitions = formatGvk({ group: "apiextensions.k8s.io", version: "v1", kind: "CustomResourceDefinition" })

/** The columns of a custom kind are those of its definition at that moment, if definitions are recorded. */
const definedKind = async ({ places, signal }: AskedPast, gvk: string, at: number): Promise<Resource | undefined> => {
  for (const place of places)
    for await (const item of askPast(place, "objects", { kind: definitions, at }, signal)) {
      const resource = customResource(objectOf(item), gvk)
      if (resource !== undefined) return resource
    }
  return undefined
}

/** What is known of a kind at a moment, for its columns. */
export const resourceOf = async (asking: AskedPast, gvk: string, at: number): Promise<Resource> =>
  builtinResource(gvk) ?? (await definedKind(asking, gvk, at)) ?? unknownResource(gvk)
