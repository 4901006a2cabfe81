/** The errors that rules report, made as the server's `field` package makes them. */

import type { FieldError } from "../kind-rules.ts"

/** Errors gathered along a validation, in the order in which they were found. */
export type Errors = FieldError[]

export const required = (field: string, detail = ""): FieldError => ({ type: "Required", field, detail })

export const invalid = (field: string, value: unknown, detail: string): FieldError => ({
  type: "Invalid",
  field,
  value,
  detail,
})

export const forbidden = (field: string, detail: string): FieldError => ({ type: "Forbidden", field, detail })

export const duplicate = (field: string, value: unknown): FieldError => ({
  type: "Duplicate",
  field,
  value,
  detail: "",
})

export const notFound = (field: string, value: unknown): FieldError => ({ type: "NotFound", field, value, detail: "" })

/** `supported` in the order in which the server lists them: sorted, unless it keeps a list. */
export const notSupported = (field: string, value: unknown, supported: ReadonlyArray<string>): FieldError => ({
  type: "NotSupported",
  field,
  value,
  detail: `supported values: ${supported.map((name) => JSON.stringify(name)).join(", ")}`,
})

/** `limit` in bytes. */
export const tooLong = (field: string, limit: number): FieldError => ({
  type: "TooLong",
  field,
  detail: `may not be more than ${limit} bytes`,
})

export const immutable = (field: string, value: unknown): FieldError => invalid(field, value, "field is immutable")

/** One `Invalid` for each of several complaints about one value. */
export const invalidEach = (field: string, value: unknown, complaints: ReadonlyArray<string>): FieldError[] =>
  complaints.map((complaint) => invalid(field, value, complaint))
