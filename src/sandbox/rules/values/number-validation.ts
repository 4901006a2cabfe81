/** Numbers and int-or-percent values. */

import { type Errors, invalid, invalidEach } from "../../../apiserver/answers/field-error.ts"
import { percentComplaints } from "../../../kube/names.ts"
import { number } from "../fields.ts"
import type { Fields } from "../kind-rules.ts"

export const notNegative = "must be greater than or equal to 0"

/** Absent numbers are valid. */
export const checkNotNegative = (
  parent: Fields | undefined,
  keys: ReadonlyArray<string>,
  field: string,
  errors: Errors,
): void => {
  for (const key of keys) {
    const value = number(parent, key)
    if (value !== undefined && value < 0) errors.push(invalid(`${field}.${key}`, value, notNegative))
  }
}

/** `3` or `25%`. */
export const checkAmount = (value: unknown, field: string, errors: Errors): void => {
  if (typeof value === "string") errors.push(...invalidEach(field, value, percentComplaints(value)))
  else if (typeof value === "number" && value < 0) errors.push(invalid(field, value, notNegative))
}

export const checkAtMostAll = (value: unknown, field: string, errors: Errors): void => {
  if (typeof value === "string" && percentComplaints(value).length === 0 && Number.parseInt(value, 10) > 100)
    errors.push(invalid(field, value, "must not be greater than 100%"))
}

/** A value other than a percentage as Go's Atoi reads it: text that is not a number is 0. */
export const amountOf = (value: unknown): number => {
  if (typeof value === "number") return value
  return typeof value === "string" && /^\d+%?$/.test(value) ? Number.parseInt(value, 10) : 0
}
