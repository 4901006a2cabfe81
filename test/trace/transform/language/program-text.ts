/** Programs of all sorts, and their text as someone could have written it. */
import fc from "fast-check"
import type {
  Comparison,
  Condition,
  Moment,
  Path,
  Program,
  Statement,
  Step,
  Value,
} from "../../../../src/trace/transform/language/program.ts"

const word = fc.stringMatching(/^[a-zA-Z_][a-zA-Z0-9_-]{0,6}$/)
/** Anything can be between quotes. */
const quotedPart = fc.string({ minLength: 0, maxLength: 8, unit: "binary" })
const at = 0

const step = (): fc.Arbitrary<Step> => fc.oneof(word, quotedPart, fc.nat(20), fc.constant(null))

const path = (variables: ReadonlyArray<string>): fc.Arbitrary<Path> => {
  const plain = fc
    .tuple(fc.oneof(word, quotedPart), fc.array(step(), { maxLength: 3 }))
    .map(([head, steps]): Path => ({ type: "path", variable: null, steps: [head, ...steps], at }))
  if (variables.length === 0) return plain
  const bound = fc
    .tuple(fc.constantFrom(...variables), fc.array(step(), { maxLength: 2 }))
    .map(([variable, steps]): Path => ({ type: "path", variable, steps, at }))
  return fc.oneof(plain, bound)
}

const numberText = fc.stringMatching(/^-?(?:0|[1-9][0-9]{0,3})(?:\.[0-9]{1,3})?(?:[eE][+-]?[0-9]{1,2})?$/)

const value = (variables: ReadonlyArray<string>, depth = 2): fc.Arbitrary<Value> => {
  const simple: ReadonlyArray<fc.Arbitrary<Value>> = [
    fc
      .oneof(fc.string({ unit: "binary" }), fc.boolean(), fc.constant(null))
      .map((literal): Value => ({ type: "literal", value: literal, at })),
    numberText.map((text): Value => ({ type: "number", text, at })),
    // What reads as a number, a word of its own or a string is one.
    path(variables)
      .filter(({ variable, steps }) => variable !== null || !/^(?:-?\d.*|true|false|null)$/i.test(String(steps[0])))
      .filter(({ variable, steps }) => variable !== null || steps.length > 1 || isWord(steps[0])),
  ]
  if (depth === 0) return fc.oneof(...simple)
  return fc.oneof(
    ...simple,
    fc.array(value(variables, depth - 1), { maxLength: 3 }).map((items): Value => ({ type: "array", items, at })),
    fc
      .array(fc.tuple(fc.oneof(word, quotedPart), value(variables, depth - 1)), { maxLength: 3 })
      .map((members): Value => ({ type: "object", members, at })),
  )
}

const comparison = fc.constantFrom<Comparison>("==", "!=", "<=", ">=", "<", ">")
const moment = fc.oneof(
  fc
    .tuple(fc.nat(10_000), fc.constantFrom("h", "m", "s", "ms", ""))
    .map(([amount, unit]): Moment => ({ text: String(amount), unit: unit as Moment["unit"], at })),
  fc
    .date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true })
    .map((date): Moment => ({ text: date.toISOString(), unit: "date", at })),
)

/** A test of what a path matches. */
const test = (variables: ReadonlyArray<string>, about = path(variables)): fc.Arbitrary<Condition> =>
  fc.oneof(
    about.map((tested): Condition => ({ type: "exists", path: tested, at })),
    fc
      .tuple(
        about,
        fc.stringMatching(/^[a-z.*^$]{0,5}$/).filter((text) => !/[*^$.]{2}|^\*/.test(text)),
      )
      .map(([tested, pattern]): Condition => ({ type: "matches", path: tested, pattern, at })),
    fc
      .tuple(about, value(variables))
      .map(([tested, members]): Condition => ({ type: "in", path: tested, value: members, at })),
    fc
      .tuple(about, comparison, value(variables))
      .map(([tested, operator, other]): Condition => ({ type: "compare", path: tested, operator, value: other, at })),
  )

const condition = (depth: number): fc.Arbitrary<Condition> => {
  const simple = fc.oneof(
    test([]),
    fc.tuple(comparison, moment).map(([operator, time]): Condition => ({ type: "time", operator, moment: time, at })),
  )
  if (depth === 0) return simple
  const parts = fc.array(condition(depth - 1), { minLength: 2, maxLength: 3 })
  return fc.oneof(
    simple,
    fc.tuple(fc.constantFrom("and" as const, "or" as const), parts).map(([type, of]): Condition => ({ type, of })),
    condition(depth - 1).map((of): Condition => ({ type: "not", of })),
  )
}

/** Conditions that define the variable $v, and what follows may use. */
const binding: fc.Arbitrary<Condition> = fc
  .tuple(
    path([]),
    test(
      ["$v"],
      path(["$v"]).map((tested) => ({ ...tested, variable: "$v" })),
    ),
  )
  .map(([bound, tested]): Condition => ({ type: "bind", variable: "$v", path: bound, test: tested, at }))

const conditioned = fc.oneof(
  fc.constant({ condition: null, variables: [] as ReadonlyArray<string> }),
  condition(2).map((given) => ({ condition: given, variables: [] as ReadonlyArray<string> })),
  binding.map((given) => ({ condition: given, variables: ["$v"] as ReadonlyArray<string> })),
  fc.tuple(binding, condition(1)).map(([first, second]) => ({
    condition: { type: "and", of: [first, second] } as Condition,
    variables: ["$v"] as ReadonlyArray<string>,
  })),
)

const inserted: fc.Arbitrary<Statement> = fc.tuple(word, word, moment).map(([kind, name, time]): Statement => {
  const text = (literal: string): Value => ({ type: "literal", value: literal, at })
  const metadata: Value = { type: "object", members: [["name", text(name)]], at }
  return {
    type: "insert",
    object: {
      type: "object",
      members: [
        ["apiVersion", text("v1")],
        ["kind", text(kind)],
        ["metadata", metadata],
      ],
      at,
    },
    time,
    at,
  }
})

const statement: fc.Arbitrary<Statement> = fc.oneof(
  conditioned.map(({ condition: given }): Statement => ({ type: "delete", condition: given, at })),
  conditioned.chain(({ condition: given, variables }) =>
    path(variables).map((target): Statement => ({ type: "remove", condition: given, target, at })),
  ),
  conditioned.chain(({ condition: given, variables }) =>
    fc
      .tuple(path(variables), value(variables))
      .map(([target, assigned]): Statement => ({ type: "modify", condition: given, target, value: assigned, at })),
  ),
  inserted,
)

/** Programs that pass the checks. All positions are 0. */
export const anyProgram: fc.Arbitrary<Program> = fc.array(statement, { maxLength: 4 })

const isWord = (part: Step | undefined): boolean => typeof part === "string" && /^[a-zA-Z0-9_-]+$/.test(part)

/** Text between tokens, by turns. */
const spaces = ["", " ", "\n", "\t", ' # a remark; "not a string\n']

/** The program's text, with another sort of space at each place where there may be one. */
export const textOf = (program: Program, turn = 0): string => {
  let next = turn
  const _ = (): string => spaces[next++ % spaces.length] as string
  const part = (key: string): string => (isWord(key) && next++ % 3 > 0 ? key : JSON.stringify(key))
  const pathText = ({ variable, steps }: Path): string => {
    const rest = variable === null ? steps.slice(1) : steps
    const head = variable ?? part(String(steps[0]))
    return (
      head +
      rest.map((each) => (each === null ? "[*]" : typeof each === "number" ? `[${each}]` : `.${part(each)}`)).join("")
    )
  }
  const valueText = (given: Value): string => {
    switch (given.type) {
      case "literal":
        return JSON.stringify(given.value)
      case "number":
        return given.text
      case "path":
        // A quoted word alone would be a string.
        return given.variable === null && given.steps.length === 1 ? String(given.steps[0]) : pathText(given)
      case "array":
        return `[${given.items.map((item) => `${_()}${valueText(item)}${_()}`).join(",")}]`
      case "object":
        return `{${given.members.map(([key, member]) => `${_()}${part(key)}${_()}:${_()}${valueText(member)}${_()}`).join(",")}}`
    }
  }
  const momentText = ({ text, unit }: Moment): string => (unit === "date" ? JSON.stringify(text) : `${text}${unit}`)
  const conditionText = (given: Condition): string => {
    switch (given.type) {
      case "and":
      case "or":
        return given.of.map(nested).join(`${_()}${given.type === "and" ? "&&" : "||"}${_()}`)
      case "not":
        return `!${_()}${nested(given.of)}`
      case "time":
        return `@t${_()}${given.operator}${_()}${momentText(given.moment)}`
      case "bind":
        return `${given.variable}${_()}:=${_()}${pathText(given.path)}${_()}|${_()}${nested(given.test)}`
      case "exists":
        return `exists${_()}(${_()}${pathText(given.path)}${_()})`
      case "matches":
        return `${pathText(given.path)}${_()}=~${_()}${JSON.stringify(given.pattern)}`
      case "in":
        return `${pathText(given.path)} in ${valueText(given.value)}`
      case "compare":
        return `${pathText(given.path)}${_()}${given.operator}${_()}${valueText(given.value)}`
    }
  }
  /** A part of another condition. */
  const nested = (given: Condition): string =>
    given.type === "and" || given.type === "or" ? `(${_()}${conditionText(given)}${_()})` : conditionText(given)
  const selector = (given: Condition | null): string =>
    given === null ? (next++ % 2 > 0 ? "" : `*${_()},`) : `${conditionText(given)}${_()},`
  const statementText = (given: Statement): string => {
    switch (given.type) {
      case "modify":
        return `modify${_()}(${_()}${selector(given.condition)}${_()}${pathText(given.target)}${_()}=${_()}${valueText(given.value)}${_()})`
      case "remove":
        return `remove${_()}(${_()}${selector(given.condition)}${_()}${pathText(given.target)}${_()})`
      case "delete":
        return `delete(${_()}${given.condition === null ? "*" : conditionText(given.condition)}${_()})`
      case "insert":
        return `insert(${_()}${valueText(given.object)}${_()},${_()}at ${momentText(given.time)}${_()})`
    }
  }
  return program.map((each) => `${_()}${statementText(each)}${_()};${_()}`).join("")
}

/** The program with all positions 0. */
export const withoutPositions = (program: Program): unknown =>
  JSON.parse(JSON.stringify(program, (key, each) => (key === "at" ? 0 : each)))
