/**
 * What a condition says of an object of which nothing is known but which one it is: a deletion. It is met only if it is met whatever the object was like, so
 * that neither `status.phase == "Failed"` nor `!exists(spec.nodeName)` removes the deletion of an object that stays.
 */
import { pathsIn } from "./language/paths-in.ts"
import type { Condition, Path, Value } from "./language/program.ts"

/** Met, and not met. */
const always: Condition = { type: "and", of: [] }
const never: Condition = { type: "or", of: [] }

/** The condition with all that is not about the object's identity or the time taken as it is least likely to be met. */
export const identityCondition = (condition: Condition): Condition => assuming(condition, never, new Set())

/** `unknown`: replaces a test of other fields. `known`: variables that are bound to fields of the identity. */
const assuming = (condition: Condition, unknown: Condition, known: Set<string>): Condition => {
  switch (condition.type) {
    case "and":
    case "or":
      return { type: condition.type, of: condition.of.map((part) => assuming(part, unknown, known)) }
    case "not":
      return { type: "not", of: assuming(condition.of, unknown === never ? always : never, known) }
    case "time":
      return condition
    case "bind":
      if (!isKnown(condition.path, known)) return unknown
      known.add(condition.variable)
      return { ...condition, test: assuming(condition.test, unknown, known) }
    case "exists":
    case "matches":
      return isKnown(condition.path, known) ? condition : unknown
    case "in":
    case "compare":
      return isKnown(condition.path, known) && isKnownValue(condition.value, known) ? condition : unknown
  }
}

/** SimKube's deletions have no UID. */
const isKnown = ({ variable, steps }: Path, known: ReadonlySet<string>): boolean =>
  variable === null ? /^(?:apiVersion|kind|metadata\/(?:namespace|name))$/.test(steps.join("/")) : known.has(variable)

const isKnownValue = (value: Value, known: ReadonlySet<string>): boolean =>
  [...pathsIn(value)].every((path) => isKnown(path, known))
