/**
 * The parameters of a tool: declared in a table, from which assistants get a JSON Schema, and by which what they send is read. Nothing is guessed: a
 * parameter that is unknown, missing or of another type is refused with a message that names it.
 */

import { nearest, quoted } from "../../text/index.ts"
import { isFieldPath, parseFieldPath } from "../../trace/index.ts"
import { Misasked } from "../command-line/exit-codes.ts"

/** A parameter: how it is described, and how a value is read; `undefined` is read where none is given. */
interface Parameter<T> {
  readonly schema: Readonly<Record<string, unknown>>
  readonly isRequired: boolean
  /** Returns the value, or throws {@link Misasked}. */
  readonly read: (name: string, given: unknown) => T
}

type ParameterTable = Readonly<Record<string, Parameter<unknown>>>

/** What a tool is given. */
type ParameterValues<Table extends ParameterTable> = {
  readonly [Name in keyof Table]: Table[Name] extends Parameter<infer T> ? T : never
}

const longestText = 4096

const readText = (name: string, given: unknown): string => {
  if (typeof given !== "string") throw new Misasked(`${name} must be a string, not ${typeNameOf(given)}`)
  if (given.length > longestText) throw new Misasked(`${name} is longer than ${longestText} characters`)
  return given
}

const typeNameOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "an array" : `a ${typeof value}`

const isAbsent = (given: unknown): boolean => given === undefined || given === null || given === ""

/** A text that is required, and not empty. */
export const requiredText = (description: string): Parameter<string> => ({
  schema: { type: "string", description },
  isRequired: true,
  read: (name, given) => {
    if (isAbsent(given)) throw new Misasked(`${name} is required: ${description}`)
    return readText(name, given)
  },
})

/** A text; the empty one counts as none, because assistants send it for parameters that they do not need. */
export const optionalText = (description: string): Parameter<string | undefined> => ({
  schema: { type: "string", description },
  isRequired: false,
  read: (name, given) => (isAbsent(given) ? undefined : readText(name, given)),
})

/** A text with a default. */
export const textOr = (byDefault: string, description: string): Parameter<string> => ({
  schema: { type: "string", description, default: byDefault },
  isRequired: false,
  read: (name, given) => (isAbsent(given) ? byDefault : readText(name, given)),
})

/** One of a few words. */
export const optionalWord = <Word extends string>(
  words: ReadonlyArray<Word>,
  description: string,
): Parameter<Word | undefined> => ({
  schema: { type: "string", enum: words, description },
  isRequired: false,
  read: (name, given) => {
    if (isAbsent(given)) return undefined
    const found = words.find((word) => word === given)
    if (found === undefined) throw new Misasked(`${name} must be one of ${words.join(", ")}`)
    return found
  },
})

/** True or false; false by default. */
export const switchOf = (description: string): Parameter<boolean> => ({
  schema: { type: "boolean", description, default: false },
  isRequired: false,
  read: (name, given) => {
    if (isAbsent(given)) return false
    if (typeof given !== "boolean") throw new Misasked(`${name} must be true or false, not ${typeNameOf(given)}`)
    return given
  },
})

/** An integer within limits. */
export const integerOr = (byDefault: number, maximum: number, description: string): Parameter<number> => ({
  schema: { type: "integer", minimum: 1, maximum, description, default: byDefault },
  isRequired: false,
  read: (name, given) => {
    if (isAbsent(given)) return byDefault
    if (typeof given !== "number" || !Number.isInteger(given) || given < 1 || given > maximum)
      throw new Misasked(`${name} must be an integer from 1 to ${maximum}`)
    return given
  },
})

/** The values of all parameters. @throws Misasked */
export const readParameters = <Table extends ParameterTable>(
  table: Table,
  given: Readonly<Record<string, unknown>>,
): ParameterValues<Table> => {
  const names = Object.keys(table)
  for (const name of Object.keys(given)) {
    if (names.includes(name)) continue
    const meant = nearest(name, names)
    const advice = meant === undefined ? `parameters are ${names.join(", ")}` : `did you mean ${meant}?`
    throw new Misasked(`unknown parameter ${quoted(name)}; ${advice}`)
  }
  const read = names.map((name) => [
    name,
    table[name]?.read(name, Object.hasOwn(given, name) ? given[name] : undefined),
  ])
  return Object.fromEntries(read) as ParameterValues<Table>
}

/** The JSON Schema of a tool's input. */
export interface InputSchema {
  readonly type: "object"
  readonly properties: Record<string, object>
  readonly required?: string[]
  readonly additionalProperties: false
}

/** The table as a JSON Schema. */
export const inputSchemaOf = (table: ParameterTable): InputSchema => {
  const required = Object.keys(table).filter((name) => table[name]?.isRequired === true)
  return {
    type: "object",
    properties: Object.fromEntries(Object.entries(table).map(([name, { schema }]) => [name, schema])),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  }
}

export type { ParameterTable, ParameterValues }

// Parameters that several tools have, in the same words.

const times =
  "03:12, yesterday 03:12 (in the time zone of the server), -10m or 2h before now, or exact: 2026-11-21T10:00:00Z"

export const object = {
  kind: requiredText("kind of the object as with kubectl: pod, deploy, or exact: apps/v1.Deployment"),
  name: requiredText("name of the object"),
  namespace: optionalText("namespace of the object; default: any"),
}

export const namespace = optionalText("only this namespace; default: all")

export const labels = optionalText("only objects with these labels: app=web,tier in (a,b)")

export const fields = optionalText("only objects with these fields, of any path: spec.nodeName=a,status.phase!=Running")

export const until = textOr("now", "up to this moment, written as since; now is, of a directory or a trace, its end")

/** `byDefault`: a time. */
export const since = (byDefault: string): Parameter<string> =>
  textOr(byDefault, `from this moment on: ${times}. 0 is the beginning of the recording`)

export const at = textOr("now", `the moment: ${times}. now is, of a directory or a trace, its end`)

/** Kinds in one text, as on the command line. */
export const kindsIn = (text: string): ReadonlyArray<string> =>
  text
    .split(",")
    .map((kind) => kind.trim())
    .filter((kind) => kind !== "")

const anyPath = optionalText("")

/** A path to a field. @throws Misasked, when it is read */
export const fieldPath = (description: string): Parameter<string | undefined> => {
  const parameter = optionalText(description)
  return {
    ...parameter,
    read: (name, given) => {
      const text = anyPath.read(name, given)
      const path = text === undefined ? [] : parseFieldPath(text)
      if (!isFieldPath(path)) throw new Misasked(`${name} is no path to a field: ${path.problem}`)
      return text
    },
  }
}

/** The field parameter of the tools that return changes. */
export const changedField = fieldPath(
  'only changes of this field: spec.replicas, metadata.labels["app"], spec.template.spec.containers[name=web].image',
)
