/** `fieldPath` of a rule: `.spec.replicas`, `['a.b']`, and mixtures, from the rule's place to a field of the schema. */

import type { StructuralSchema } from "../../../apiserver/openapi/structural-schema.ts"
import { isRecord } from "../../../is-record.ts"

const step = /\.([^.[\]]+)|\['((?:[^'\\]|\\[abfnrtv'\\])*)'\]/y

const unescaped: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
}

/** The path as messages show it; `undefined` if it leads to no field of the schema. Empty for the empty path. */
export const ruleFieldPath = (path: string, schema: StructuralSchema): string | undefined => {
  let at = schema
  let shown = ""
  let end = 0
  step.lastIndex = 0
  for (let match = step.exec(path); match !== null; match = step.exec(path)) {
    end = step.lastIndex
    const [, plain, quoted = ""] = match
    const name = plain ?? quoted.replace(/\\(.)/g, (_, letter: string) => unescaped[letter] ?? letter)
    const next: StructuralSchema | undefined = below(at, name)
    if (next === undefined) return undefined
    shown += at.properties === undefined ? `[${name}]` : shown === "" ? name : `.${name}`
    at = next
  }
  return end === path.length ? shown : undefined
}

const below = ({ properties, additionalProperties }: StructuralSchema, name: string): StructuralSchema | undefined => {
  if (properties !== undefined) return Object.hasOwn(properties, name) ? properties[name] : undefined
  return isRecord(additionalProperties) ? additionalProperties : undefined
}
