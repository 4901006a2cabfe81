/** Runs a program on one object at a time. */

import { RE2JS } from "re2js"
import { isJsonObject, type JsonObject, type JsonValue } from "../json/exact-json.ts"
import {
  type Bindings,
  isOrdered,
  isSame,
  ManyValues,
  matchesOf,
  membersOf,
  onlyValue,
  type Place,
  placesOf,
  type Scope,
  targetsOf,
  valueAt,
  valuesOf,
  withoutPlaces,
  withValueAt,
} from "./expressions.ts"
import {
  type Comparison,
  type Condition,
  type MomentOf,
  momentsFrom,
  type Path,
  type Program,
  pathsIn,
  type Statement,
  type Value,
} from "./language/program.ts"

/** The bindings if the condition is met, with those that it makes; `undefined` if it is not. */
type Trial = (scope: Scope) => Bindings | undefined

/**
 * A condition, ready to be tried on many objects. A test of a path is met if anything that the path matches meets it;
 * so `a != 1` is not met where there is no `a`, and `!(a == 1)` is. With a path on the right, `==` means that its
 * matches contain the value, `!=` that they do not, and an order that one of them is in it. `momentOf` says when
 * moments are.
 */
const trialOf = (condition: Condition, momentOf: MomentOf): Trial => {
  switch (condition.type) {
    case "and": {
      const parts = condition.of.map((part) => trialOf(part, momentOf))
      return (scope) => {
        let bindings: Bindings | undefined = scope.bindings
        for (const part of parts) {
          bindings = part({ ...scope, bindings })
          if (bindings === undefined) return undefined
        }
        return bindings
      }
    }
    case "or": {
      const parts = condition.of.map((part) => trialOf(part, momentOf))
      // What one alternative binds means nothing outside of it.
      return (scope) =>
        metIf(
          parts.some((part) => part(scope) !== undefined),
          scope,
        )
    }
    case "not": {
      const part = trialOf(condition.of, momentOf)
      return (scope) => metIf(part(scope) === undefined, scope)
    }
    case "time": {
      const moment = momentOf(condition.moment)
      return (scope) => metIf(isRelated(scope.time, condition.operator, moment), scope)
    }
    case "bind": {
      const test = trialOf(condition.test, momentOf)
      const { variable, path } = condition
      return (scope) => {
        const alone = (place: Place): Bindings => new Map(scope.bindings).set(variable, [place])
        const bound = placesOf(scope.object, path, scope.bindings).filter(
          (place) => test({ ...scope, bindings: alone(place) }) !== undefined,
        )
        return bound.length === 0 ? undefined : new Map(scope.bindings).set(variable, bound)
      }
    }
    case "exists":
      return (scope) => metIf(placesOf(scope.object, condition.path, scope.bindings).length > 0, scope)
    case "matches": {
      const pattern = RE2JS.compile(condition.pattern)
      return (scope) =>
        metIf(
          matchesOf(condition.path, scope).some((value) => typeof value === "string" && pattern.matcher(value).find()),
          scope,
        )
    }
    case "in":
      return (scope) => {
        const members = membersOf(condition.value, scope)
        return metIf(
          matchesOf(condition.path, scope).some((value) => members.some((member) => isSame(value, member))),
          scope,
        )
      }
    case "compare":
      return (scope) => metIf(isMet(condition, scope), scope)
  }
}

const metIf = (isMetNow: boolean, { bindings }: Scope): Bindings | undefined => (isMetNow ? bindings : undefined)

const isMet = ({ path, operator, value }: Extract<Condition, { type: "compare" }>, scope: Scope): boolean => {
  const found = matchesOf(path, scope)
  if (found.length === 0) return false
  const others = valuesOf(value, scope)
  switch (operator) {
    case "==":
      return found.some((one) => others.some((other) => isSame(one, other)))
    case "!=":
      return found.some((one) => !others.some((other) => isSame(one, other)))
    default:
      return found.some((one) => others.some((other) => isOrdered(one, operator, other)))
  }
}

const isRelated = (time: number, operator: Comparison, moment: number): boolean =>
  operator === "==" || operator === "!=" ? (time === moment) === (operator === "==") : isOrdered(time, operator, moment)

// What a condition says of an object of which nothing is known but which one it is: a deletion. It is met only if it is met whatever the object was like, so
// that neither `status.phase == "Failed"` nor `!exists(spec.nodeName)` removes the deletion of an object that stays.

/** Met, and not met. */
const always: Condition = { type: "and", of: [] }
const never: Condition = { type: "or", of: [] }

/** The condition with all that is not about the object's identity or the time taken as it is least likely to be met. */
const identityCondition = (condition: Condition): Condition => assuming(condition, never, new Set())

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

/**
 * What a command did to an object that meets its condition. `kept`: the object is as before. `lacking`: the value that it assigns is in none of the object's
 * fields. `placeless`: the field cannot be assigned to, because a parent is no object, or an index is beyond its array.
 */
export type Effect = "kept" | "changed" | "deleted" | "lacking" | "placeless"

/** A command cannot be carried out on an object; nothing that is wrong with the object alone. */
export class CommandFailed extends Error {
  /** In the program's text. */
  readonly at: number

  constructor(at: number, detail: string) {
    super(detail)
    this.at = at
  }
}

/** Called for each command that concerns the object, in order. */
export type OnEffect = (statement: number, effect: Effect, before: JsonObject, after: JsonObject | undefined) => void

/**
 * What the object is: a state, of which everything is known; of a deletion, what it is the deletion of, so that only conditions on that are met; or the last
 * state that comes with a deletion, which no command deletes.
 */
export type Given = "state" | "identity" | "last state"

/**
 * The object after all commands; `undefined`: one of them deletes it. `from`: the first command to run.
 * @throws CommandFailed
 */
export type RunProgram = (
  object: JsonObject,
  time: number,
  onEffect: OnEffect,
  from?: number,
  given?: Given,
) => JsonObject | undefined

interface Outcome {
  readonly effect: Effect | "unmet"
  readonly object: JsonObject | undefined
}

type Step = (object: JsonObject, time: number) => Outcome

/** Ready to be run on the objects of a trace that begins at `start`, µs since the Unix epoch. */
export const runnerOf = (program: Program, start: number): RunProgram => {
  const steps = program.map((statement): PreparedStep => {
    const step = stepOf(statement, start)
    const { at, type } = statement
    if (type === "insert" || statement.condition === null) return { at, type, step, identityStep: step }
    const identityStep = stepOf({ ...statement, condition: identityCondition(statement.condition) }, start)
    return { at, type, step, identityStep }
  })
  return (object, time, onEffect, from = 0, given = "state") => {
    let current = object
    for (const [index, { at, type, step, identityStep }] of steps.entries()) {
      if (index < from || (given === "last state" && type === "delete")) continue
      const outcome = carriedOut(given === "identity" ? identityStep : step, current, time, at)
      if (outcome.effect !== "unmet") onEffect(index, outcome.effect, current, outcome.object)
      if (outcome.object === undefined) return undefined
      current = outcome.object
    }
    return current
  }
}

interface PreparedStep {
  readonly at: number
  readonly type: Statement["type"]
  readonly step: Step
  /** For an object of which nothing but its identity is known. */
  readonly identityStep: Step
}

const carriedOut = (step: Step, current: JsonObject, time: number, at: number): Outcome => {
  let outcome: Outcome
  try {
    outcome = step(current, time)
  } catch (error) {
    if (!(error instanceof ManyValues)) throw error
    throw new CommandFailed(error.at, `multiple matching values: ${error.message} to assign, where there can be one`)
  }
  if (outcome.effect === "changed" && outcome.object !== undefined) {
    const fault = faultOf(outcome.object)
    // Foreign traces have objects without apiVersion: that is not the command's doing.
    if (fault !== undefined && faultOf(current) === undefined) throw new CommandFailed(at, fault)
  }
  return outcome
}

const noBindings: Bindings = new Map()

const stepOf = (statement: Statement, start: number): Step => {
  // What is inserted goes through the commands behind the insertion only.
  if (statement.type === "insert") return (object) => ({ effect: "unmet", object })
  const { condition } = statement
  const trial: Trial = condition === null ? ({ bindings }) => bindings : trialOf(condition, momentsFrom(start))
  return (object, time) => {
    const bindings = trial({ object, time, bindings: noBindings })
    if (bindings === undefined) return { effect: "unmet", object }
    switch (statement.type) {
      case "delete":
        return { effect: "deleted", object: undefined }
      case "remove": {
        const places = placesOf(object, statement.target, bindings)
        return places.length === 0
          ? { effect: "kept", object }
          : { effect: "changed", object: withoutPlaces(object, places) }
      }
      case "modify":
        return modified(statement.target, statement.value, { object, time, bindings })
    }
  }
}

/** Tells whether an object meets the condition in a state at a time. Times, in µs since the Unix epoch, count from `start`. */
export const testOf = (condition: Condition, start: number): ((object: JsonObject, time: number) => boolean) => {
  const trial = trialOf(condition, momentsFrom(start))
  return (object, time) => trial({ object, time, bindings: noBindings }) !== undefined
}

/** With the variable of the target in the value, each bound place gets its own value. */
const modified = (target: Path, value: Value, scope: Scope): Outcome => {
  const { variable } = target
  if (variable === null || !mentions(value, variable)) return assigned(target, value, scope)
  let outcome: Outcome = { effect: "kept", object: scope.object }
  const effects = new Set<Outcome["effect"]>()
  for (const place of scope.bindings.get(variable) ?? []) {
    const bindings = new Map(scope.bindings).set(variable, [place])
    outcome = assigned(target, value, { ...scope, object: outcome.object ?? scope.object, bindings })
    effects.add(outcome.effect)
  }
  const effect = (["changed", "lacking", "placeless"] as const).find((each) => effects.has(each)) ?? "kept"
  return { effect, object: outcome.object }
}

const mentions = (value: Value, variable: string): boolean =>
  [...pathsIn(value)].some((path) => path.variable === variable)

const assigned = (target: Path, value: Value, scope: Scope): Outcome => {
  const { object, bindings } = scope
  const assignedValue = onlyValue(value, scope)
  if (assignedValue === undefined) return { effect: "lacking", object }
  let changed: JsonObject = object
  let effect: Effect = "kept"
  for (const place of targetsOf(object, target, bindings)) {
    const before = valueAt(changed, place)
    if (before !== undefined && isSame(before, assignedValue)) continue
    const next = withAssigned(changed, place, assignedValue)
    if (next === undefined) {
      if (effect === "kept") effect = "placeless"
      continue
    }
    changed = next
    effect = "changed"
  }
  return { effect, object: changed }
}

const withAssigned = (object: JsonObject, place: Place, value: JsonValue): JsonObject | undefined => {
  const next = withValueAt(object, place, value)
  return isJsonObject(next) ? next : undefined
}

/** What every object of a cluster is; a replay could do nothing with another. */
const faultOf = (object: JsonObject): string | undefined => {
  const metadata = object.metadata
  for (const name of ["apiVersion", "kind"] as const)
    if (typeof object[name] !== "string" || object[name] === "") return `the object would have no text as its ${name}`
  if (!isJsonObject(metadata)) return "the object would have no metadata"
  if (typeof metadata.name !== "string" || metadata.name === "")
    return "the object would have no text as its metadata.name"
  if (metadata.namespace !== undefined && typeof metadata.namespace !== "string")
    return "its metadata.namespace would be no text"
  for (const name of ["labels", "annotations"] as const) {
    const members = metadata[name]
    if (members === undefined || members === null) continue
    if (!isJsonObject(members)) return `its metadata.${name} would be no object`
    const wrong = Object.keys(members).find((key) => typeof members[key] !== "string")
    if (wrong !== undefined)
      return `the value of its metadata.${name} ${JSON.stringify(wrong)} would be no text; texts are in quotes`
  }
  return undefined
}
