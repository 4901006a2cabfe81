/** Runs a program on one object at a time. */
import { isJsonObject, type JsonObject, type JsonValue } from "../json/exact-json.ts"
import { isSame } from "./comparison.ts"
import { type Trial, trialOf } from "./conditions.ts"
import { ManyValues, onlyValue, type Scope } from "./expressions.ts"
import { momentsFrom } from "./language/moments.ts"
import { pathsIn } from "./language/paths-in.ts"
import type { Condition, Path, Program, Statement, Value } from "./language/program.ts"
import { type Bindings, type Place, placesOf, targetsOf, valueAt, withoutPlaces, withValueAt } from "./places.ts"

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
 * What a command did to an object. `unmet`: its condition was not. `kept`: it was, and the object is as before. `lacking`: the value that it assigns is in none
 * of the object's fields. `placeless`: the field cannot be assigned to, because a parent is no object, or an index is beyond its array.
 */
export type Effect = "unmet" | "kept" | "changed" | "deleted" | "lacking" | "placeless"

/** A command cannot be carried out on an object; nothing that is wrong with the object alone. */
export class CommandFailed extends Error {
  /** Of the command in the program, from 0. */
  readonly statement: number
  /** In the program's text. */
  readonly at: number

  constructor(statement: number, at: number, detail: string) {
    super(detail)
    this.statement = statement
    this.at = at
  }
}

/** Called for each command that concerns the object, in order. */
type OnEffect = (statement: number, effect: Effect, before: JsonObject, after: JsonObject | undefined) => void

/**
 * What the object is: a state, of which everything is known; of a deletion, what it is the deletion of, so that only conditions on that are met; or the last
 * state that comes with a deletion, which no command deletes.
 */
type Given = "state" | "identity" | "last state"

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
  readonly effect: Effect
  readonly object: JsonObject | undefined
}

type Step = (object: JsonObject, time: number) => Outcome

/** Ready to be run on the objects of a trace that begins at `start`, µs since the Unix epoch. */
export const runnerOf = (program: Program, start: number): RunProgram => {
  const steps = program.map((statement) => stepOf(statement, start))
  const identitySteps = program.map((statement, index) => {
    if (statement.type === "insert" || statement.condition === null) return steps[index] as Step
    return stepOf({ ...statement, condition: identityCondition(statement.condition) }, start)
  })
  return (object, time, onEffect, from = 0, given = "state") => {
    const stepsNow = given === "identity" ? identitySteps : steps
    let current = object
    for (let index = from; index < steps.length; index++) {
      if (given === "last state" && program[index]?.type === "delete") continue
      const outcome = carriedOut(stepsNow[index] as Step, current, time, { index, at: program[index]?.at ?? 0 })
      if (outcome.effect !== "unmet") onEffect(index, outcome.effect, current, outcome.object)
      if (outcome.object === undefined) return undefined
      current = outcome.object
    }
    return current
  }
}

const carriedOut = (
  step: Step,
  current: JsonObject,
  time: number,
  { index, at }: { readonly index: number; readonly at: number },
): Outcome => {
  let outcome: Outcome
  try {
    outcome = step(current, time)
  } catch (error) {
    if (!(error instanceof ManyValues)) throw error
    throw new CommandFailed(
      index,
      error.at,
      `multiple matching values: ${error.message} to assign, where there can be one`,
    )
  }
  if (outcome.effect === "changed" && outcome.object !== undefined) {
    const fault = faultOf(outcome.object)
    // Foreign traces have objects without apiVersion: that is not the command's doing.
    if (fault !== undefined && faultOf(current) === undefined) throw new CommandFailed(index, at, fault)
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

/** With the variable of the target in the value, each bound place gets its own value. */
const modified = (target: Path, value: Value, scope: Scope): Outcome => {
  const { variable } = target
  if (variable === null || !mentions(value, variable)) return assigned(target, value, scope)
  let outcome: Outcome = { effect: "kept", object: scope.object }
  const effects = new Set<Effect>()
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
