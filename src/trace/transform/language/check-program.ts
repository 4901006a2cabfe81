/**
 * What the grammar cannot see: variables that nothing defines or that are defined twice, tests that are not about their variable, patterns, numbers and dates
 * that cannot be read, objects to insert that are none, and what is too deep for an object.
 */
import { RE2JS, RE2JSException } from "re2js"
import { exactJsonIn, MAX_DEPTH } from "../../json/exact-json.ts"
import { isDeeper } from "../../json/members.ts"
import {
  type Condition,
  isReadable,
  type Moment,
  type ObjectValue,
  type Path,
  type Program,
  pathsIn,
  type Statement,
  type Value,
} from "./program.ts"

/** What is wrong, and where in the text. */
interface ProgramFault {
  readonly at: number
  readonly detail: string
}

/** Of a program that is nested more deeply than the parser, or what runs it, can follow. */
export const tooDeep = "parentheses, negations, lists or objects are nested too deeply"

/** The first fault; `undefined`: there is none. */
export const faultIn = (program: Program): ProgramFault | undefined => {
  for (const statement of program) {
    // What runs the program walks it with a call for each level.
    if (isDeeper(statement, MAX_DEPTH)) return { at: statement.at, detail: tooDeep }
    const fault = new StatementCheck().of(statement)
    if (fault !== undefined) return fault
  }
  return undefined
}

type Names = ReadonlySet<string>
type Checked = ProgramFault | undefined

/** Of one command: names are defined once in it, and mean something only in it. */
class StatementCheck {
  readonly #defined = new Set<string>()

  of(statement: Statement): Checked {
    if (statement.type === "insert")
      return momentFault(statement.time) ?? insertedFault(statement.object) ?? this.#value(statement.object, new Set())
    const names = new Set<string>()
    const fault = statement.condition === null ? undefined : this.#condition(statement.condition, names)
    if (fault !== undefined || statement.type === "delete") return fault
    const { target } = statement
    if (statement.type === "modify" && target.variable === null && target.steps.length === 0)
      return { at: target.at, detail: "a field to assign to is missing" }
    return this.#path(target, names) ?? (statement.type === "modify" ? this.#value(statement.value, names) : undefined)
  }

  /** `names`: what is defined here; what the condition defines for what follows it is added. */
  #condition(condition: Condition, names: Set<string>): Checked {
    switch (condition.type) {
      case "and":
        return firstOf(condition.of, (part) => this.#condition(part, names))
      case "or":
        return firstOf(condition.of, (part) => this.#condition(part, new Set(names)))
      case "not":
        return this.#condition(condition.of, new Set(names))
      case "time":
        return momentFault(condition.moment)
      case "bind": {
        const { variable, path, test, at } = condition
        const fault = this.#path(path, names)
        if (fault !== undefined) return fault
        if (this.#defined.has(variable)) return { at, detail: `variable already defined: ${variable}` }
        this.#defined.add(variable)
        names.add(variable)
        const stranger = firstOf(testsIn(test), (tested) =>
          "path" in tested && tested.path.variable !== variable
            ? {
                at: tested.path.at,
                detail: `variable not present in selector on left-hand side: the test of ${variable} is about it`,
              }
            : undefined,
        )
        return stranger ?? this.#condition(test, new Set(names))
      }
      case "exists":
        return this.#path(condition.path, names)
      case "matches":
        return this.#path(condition.path, names) ?? patternFault(condition)
      case "in":
      case "compare":
        return this.#path(condition.path, names) ?? this.#value(condition.value, names)
    }
  }

  #path({ variable, steps, at }: Path, names: Names): Checked {
    if (steps.length > MAX_DEPTH) return { at, detail: `a path of more than ${MAX_DEPTH} fields` }
    if (variable === null || names.has(variable)) return undefined
    const isElsewhere = this.#defined.has(variable)
    return {
      at,
      detail: isElsewhere
        ? `variable not defined: ${variable} is defined only within one side of ||, or behind !`
        : `variable not defined: ${variable}`,
    }
  }

  #value(value: Value, names: Names): Checked {
    switch (value.type) {
      case "path":
        return this.#path(value, names)
      case "number":
        return exactJsonIn(value.text) === undefined
          ? { at: value.at, detail: "not a number of JSON: it begins with a 0, or is too large" }
          : undefined
      case "array":
        return firstOf(value.items, (item) => this.#value(item, names))
      case "object":
        return firstOf(value.members, ([, member]) => this.#value(member, names))
      default:
        return undefined
    }
  }
}

const firstOf = <Item>(items: Iterable<Item>, check: (item: Item) => Checked): Checked => {
  for (const item of items) {
    const fault = check(item)
    if (fault !== undefined) return fault
  }
  return undefined
}

function* testsIn(condition: Condition): Generator<Condition> {
  if (condition.type === "and" || condition.type === "or") for (const part of condition.of) yield* testsIn(part)
  else if (condition.type === "not") yield* testsIn(condition.of)
  else yield condition
}

const momentFault = (moment: Moment): Checked =>
  isReadable(moment)
    ? undefined
    : {
        at: moment.at,
        detail:
          moment.unit === "date"
            ? 'not a date and time with its offset, such as "2026-11-27T03:12:00Z"'
            : "later than any trace can be",
      }

const patternFault = ({ pattern, at }: { readonly pattern: string; readonly at: number }): Checked => {
  try {
    RE2JS.compile(pattern)
    return undefined
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error
    return { at, detail: `not a regular expression (RE2): ${error.message}` }
  }
}

/** An object of a cluster says what it is, and nothing in it comes from another object. */
const insertedFault = (object: ObjectValue): Checked => {
  const [path] = pathsIn(object)
  if (path !== undefined) return { at: path.at, detail: "an object to insert has no paths; texts are in quotes" }
  const metadata = memberIn(object, "metadata")
  const wanted: ReadonlyArray<readonly [name: string, value: Value | undefined]> = [
    ["apiVersion", memberIn(object, "apiVersion")],
    ["kind", memberIn(object, "kind")],
    ["metadata.name", metadata?.type === "object" ? memberIn(metadata, "name") : undefined],
  ]
  return firstOf(wanted, ([name, value]) =>
    value?.type === "literal" && typeof value.value === "string" && value.value !== ""
      ? undefined
      : { at: value?.at ?? object.at, detail: `an object to insert has a text as its ${name}` },
  )
}

const memberIn = ({ members }: ObjectValue, name: string): Value | undefined =>
  members.findLast(([key]) => key === name)?.[1]
