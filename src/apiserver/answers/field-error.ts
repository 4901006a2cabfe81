/** Errors in the fields of an object, which become the causes of a 422. */

type FieldErrorType =
  | "Required"
  | "Invalid"
  | "TypeInvalid"
  | "NotSupported"
  | "Duplicate"
  | "Forbidden"
  | "TooLong"
  | "TooMany"
  | "NotFound"

/** One error in an object. */
export interface FieldError {
  readonly type: FieldErrorType
  /** `spec.template.spec.containers[0].name`, `metadata.labels`; `<nil>` where the server names none. */
  readonly field: string
  /** What the client sent. Not printed for `Required`, `Forbidden` and `TooLong`. */
  readonly value?: unknown
  /** May be empty. */
  readonly detail: string
}

/** Errors gathered along a validation, in the order in which they were found. */
export type Errors = FieldError[]

/** An entry of `details.causes`. */
interface FieldCause {
  readonly reason: `FieldValue${FieldErrorType}`
  readonly message: string
  readonly field: string
}

export const required = (field: string, detail = ""): FieldError => ({ type: "Required", field, detail })

export const invalid = (field: string, value: unknown, detail: string): FieldError => ({
  type: "Invalid",
  field,
  value,
  detail,
})

export const wrongType = (field: string, value: unknown, detail: string): FieldError => ({
  type: "TypeInvalid",
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

export const notSupported = (field: string, value: unknown, supported: ReadonlyArray<unknown>): FieldError => ({
  type: "NotSupported",
  field,
  value,
  detail: `supported values: ${supported.map((one) => JSON.stringify(one)).join(", ")}`,
})

/** `limit` in bytes. */
export const tooLong = (field: string, limit: number): FieldError => ({
  type: "TooLong",
  field,
  detail: `may not be more than ${limit} bytes`,
})

export const tooMany = (field: string, count: number, limit: number): FieldError => ({
  type: "TooMany",
  field,
  value: count,
  detail: `must have at most ${limit} items`,
})

export const immutable = (field: string, value: unknown): FieldError => invalid(field, value, "field is immutable")

/** One `Invalid` for each of several complaints about one value. */
export const invalidEach = (field: string, value: unknown, complaints: ReadonlyArray<string>): FieldError[] =>
  complaints.map((complaint) => invalid(field, value, complaint))

const words: Readonly<Record<FieldErrorType, string>> = {
  Required: "Required value",
  Invalid: "Invalid value",
  TypeInvalid: "Invalid value",
  NotSupported: "Unsupported value",
  Duplicate: "Duplicate value",
  Forbidden: "Forbidden",
  TooLong: "Too long",
  TooMany: "Too many",
  NotFound: "Not found",
}

const withoutValue: ReadonlySet<FieldErrorType> = new Set(["Required", "Forbidden", "TooLong"])

/** Characters of a value that a message quotes. */
const quotedLength = 500

const causeOf = ({ type, field, value, detail }: FieldError): FieldCause => {
  const quoted = withoutValue.has(type) ? "" : (JSON.stringify(value) ?? "null")
  const shown = quoted.length > quotedLength ? `${quoted.slice(0, quotedLength)}…` : quoted
  const message = [words[type], shown, detail].filter((part) => part !== "").join(": ")
  return { reason: `FieldValue${type}`, message, field }
}

/** The field and what is wrong with it: `spec.replicas: Invalid value: 0: must be positive`. */
export const errorText = (error: FieldError): string => `${error.field}: ${causeOf(error).message}`

/** The causes of the errors, each once, and the text of the 422 after `is invalid: `. */
export const explained = (
  errors: ReadonlyArray<FieldError>,
): { readonly causes: ReadonlyArray<FieldCause>; readonly summary: string } => {
  const causes = new Map<string, FieldCause>()
  for (const error of errors) {
    const cause = causeOf(error)
    causes.set(`${cause.field}: ${cause.message}`, cause)
  }
  const texts = [...causes.keys()]
  return { causes: [...causes.values()], summary: texts.length === 1 ? String(texts[0]) : `[${texts.join(", ")}]` }
}
