/**
 * Field selectors: `metadata.name=web,status.phase!=Running`, over the fields that the kind allows. Read with the rules
 * of apimachinery: terms end at commas, a backslash escapes `,`, `=` and itself.
 */

import * as Schema from "effect/Schema"
import type { Resource } from "../kinds/resources.ts"
import type { Change } from "../watch/change.ts"
import { fieldOf, type SelectableFields, selectableFieldsOf } from "./selectable-fields.ts"

/** An unreadable selector; `problem` is part of the 400's message. */
export class SelectorError extends Schema.TaggedError<SelectorError>()("SelectorError", { problem: Schema.String }) {
  override get message(): string {
    return this.problem
  }
}

interface FieldRequirement {
  readonly field: string
  readonly equal: boolean
  readonly value: string
  /** Where the kind's own fields are read from; not needed for name and namespace. */
  readonly fields: SelectableFields
}

/** All requirements must hold; an empty selector matches everything. */
export type FieldSelector = ReadonlyArray<FieldRequirement>

export const matchesFields = (selector: FieldSelector, change: Change): boolean =>
  selector.every(({ field, equal, value, fields }) => (fieldValue(change, field, fields) === value) === equal)

/** Whether an object can start or stop matching when it changes: names never change, other fields may. */
export const canChange = (selector: FieldSelector): boolean => selector.some(({ field }) => !isName(field))

const isName = (field: string): boolean => field === "metadata.name" || field === "metadata.namespace"

const fieldValue = (change: Change, field: string, fields: SelectableFields): string => {
  if (field === "metadata.name") return change.name
  return field === "metadata.namespace" ? change.namespace : fieldOf(change, fields, field)
}

/** Throws {@link SelectorError}. Empty terms are skipped, as the server skips them. */
export const parseFieldSelector = (text: string, resource: Resource): FieldSelector => {
  const fields = selectableFieldsOf(resource)
  return termsOf(text).map((term) => {
    const [, field = "", operator = "", value = ""] = /^(.*?)(!=|==|=)(.*)$/s.exec(term) ?? []
    if (operator === "") {
      throw new SelectorError({ problem: `invalid selector: '${text}'; can't understand '${term}'` })
    }
    const literal = unescaped(value)
    const isKnown =
      field === "metadata.name" || (field === "metadata.namespace" ? fields.hasNamespace : fields.readers.has(field))
    if (!isKnown) throw new SelectorError({ problem: `${JSON.stringify(field)} cannot be selected by` })
    return { field, equal: operator !== "!=", value: literal, fields }
  })
}

const termsOf = (text: string): ReadonlyArray<string> =>
  (text.match(/(?:\\.?|[^,\\])+/gs) ?? []).filter((term) => term !== "")

const unescaped = (value: string): string => {
  const wrong = (text: string): SelectorError => new SelectorError({ problem: `invalid field selector: ${text}` })
  return value.replace(/\\(.?)|[,=]/gsu, (found: string, escaped: string | undefined) => {
    if (escaped === undefined) throw wrong(`unescaped character in value: ${found.codePointAt(0)}`)
    if (escaped !== "\\" && escaped !== "," && escaped !== "=") throw wrong(`invalid escape sequence: ${found}`)
    return escaped
  })
}
