/** One thing that is wrong with one field, as the server's 422 lists it (apimachinery, util/validation/field). */

import { goQuote } from "./go-quote.ts"

export interface FieldProblem {
  /** `reason` of the cause: what kind of problem. */
  readonly reason:
    | "FieldValueRequired"
    | "FieldValueInvalid"
    | "FieldValueTypeInvalid"
    | "FieldValueNotSupported"
    | "FieldValueDuplicate"
    | "FieldValueTooLong"
    | "FieldValueTooMany"
  /** `spec.containers[0].name`; `<nil>` for problems that the server reports without one. */
  readonly field: string
  /** Without the field: `Invalid value: 11: spec.size in body should be less than or equal to 10`. */
  readonly message: string
}

/** What follows `X.group "name" is invalid: `: one problem alone, several in brackets. */
export const formatFieldProblems = (problems: ReadonlyArray<FieldProblem>): string => {
  const texts = [...new Set(problems.map(({ field, message }) => `${field}: ${message}`))]
  return texts.length === 1 ? (texts[0] ?? "") : `[${texts.join(", ")}]`
}

export const requiredField = (field: string): FieldProblem => ({
  reason: "FieldValueRequired",
  field,
  message: "Required value",
})

export const invalidField = (field: string, value: unknown, detail: string): FieldProblem => ({
  reason: "FieldValueInvalid",
  field,
  message: `Invalid value: ${printValue(value)}: ${detail}`,
})

/** `found` is the name of the type that the value has. */
export const wrongTypeField = (field: string, found: string, detail: string): FieldProblem => ({
  reason: "FieldValueTypeInvalid",
  field,
  message: `Invalid value: ${goQuote(found)}: ${detail}`,
})

export const unsupportedField = (field: string, value: unknown, supported: ReadonlyArray<unknown>): FieldProblem => ({
  reason: "FieldValueNotSupported",
  field,
  message: `Unsupported value: ${printValue(value)}: supported values: ${supported
    .map((one) => goQuote(typeof one === "string" ? one : goJson(one)))
    .join(", ")}`,
})

export const duplicateField = (field: string, value: unknown): FieldProblem => ({
  reason: "FieldValueDuplicate",
  field,
  message: `Duplicate value: ${printValue(value)}`,
})

export const tooLongField = (field: string, most: number): FieldProblem => ({
  reason: "FieldValueTooLong",
  field,
  message: `Too long: may not be more than ${most} ${most === 1 ? "byte" : "bytes"}`,
})

export const tooManyField = (field: string, count: number, most: number): FieldProblem => ({
  reason: "FieldValueTooMany",
  field,
  message: `Too many: ${count}: must have at most ${most} ${most === 1 ? "item" : "items"}`,
})

const printValue = (value: unknown): string => {
  if (typeof value === "string") return goQuote(value)
  return typeof value === "number" ? goNumber(value) : goJson(value)
}

/** `%v` of a float64 or int64. */
export const goNumber = (value: number): string =>
  String(value).replace(/e([+-])(\d)$/, (_, sign: string, digit: string) => `e${sign}0${digit}`)

/** JSON with the keys of objects sorted, as Go writes maps. Deeper than 1,000 levels it ends in `null`. */
export const goJson = (value: unknown, depth = 0): string => {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null"
  if (depth > 1000) return "null"
  if (Array.isArray(value)) return `[${value.map((item) => goJson(item, depth + 1)).join(",")}]`
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${goJson(item, depth + 1)}`).join(",")}}`
}
