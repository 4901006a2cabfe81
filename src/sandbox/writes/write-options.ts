/** The query of a write, read and validated as Kubernetes 1.34.4 does. */

import { invalidOptions } from "../../apiserver/answers/failure.ts"
import {
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
  tooLong,
} from "../../apiserver/answers/field-error.ts"
import { flag } from "../../apiserver/http/exchange.ts"
import { refuse } from "./refusal.ts"
import type { WriteRequest, WriteVerb } from "./write-request.ts"

type FieldValidation = "Ignore" | "Warn" | "Strict"

export interface WriteOptions {
  /** Everything is done except storing. */
  readonly dryRun: boolean
  /** The field manager of the write. */
  readonly manager: string
  readonly fieldValidation: FieldValidation
  /** Whether an apply takes fields from other managers. */
  readonly force: boolean
  /** The query that the options are from. */
  readonly query: URLSearchParams
  /** Warnings of the response, whether the write succeeds or not; appended to while the write is processed. */
  readonly warnings: string[]
}

const kinds: Readonly<Record<WriteVerb, string>> = {
  create: "CreateOptions",
  update: "UpdateOptions",
  patch: "PatchOptions",
  delete: "DeleteOptions",
  deletecollection: "DeleteOptions",
}

/** The first part of a User-Agent, up to its first unprintable character; `unknown` for none. At most 128 bytes. */
const managerOf = (userAgent: string): string => {
  const slash = userAgent.indexOf("/")
  const manager = (slash < 0 ? userAgent : userAgent.slice(0, slash)).slice(0, 128)
  return manager === "" ? "unknown" : manager
}

/** Throws Refusal with a 422, or a 400 for an unreadable query. */
export const parseWriteOptions = (
  { verb, query, userAgent, contentType }: WriteRequest,
  warnings: string[],
): WriteOptions => {
  if (query.size === 0 && contentType !== applyPatch) {
    return { dryRun: false, manager: managerOf(userAgent), fieldValidation: "Warn", force: false, query, warnings }
  }
  const manager = query.get("fieldManager") ?? ""
  const validation = query.get("fieldValidation") ?? ""
  const dryRun = query.getAll("dryRun").filter((value) => value !== "")
  const errors = [...dryRunErrors(dryRun), ...managerErrors(manager, contentType === applyPatch)]
  if (!validations.includes(validation)) errors.push(notSupported("fieldValidation", validation, validations))
  if (verb === "patch" && query.has("force") && contentType !== applyPatch)
    errors.push(forbidden("force", "may not be specified for non-apply patch"))
  if (errors.length > 0) refuse(invalidOptions(kinds[verb], errors))
  return {
    dryRun: dryRun.length > 0,
    manager: manager === "" ? managerOf(userAgent) : manager,
    fieldValidation: validation === "" ? "Warn" : (validation as FieldValidation),
    force: flag(query, "force") ?? false,
    query,
    warnings,
  }
}

/** Both media types of a server-side apply mean this one: a body in JSON is YAML too. */
export const applyPatch = "application/apply-patch+yaml"

const validations = ["", "Ignore", "Strict", "Warn"]

export const dryRunErrors = (dryRun: ReadonlyArray<string>): FieldError[] =>
  dryRun.some((value) => value !== "All") ? [notSupported("dryRun", dryRun, ["All"])] : []

const longestManager = 128

const managerErrors = (manager: string, isRequired: boolean): FieldError[] => {
  if (manager === "") return isRequired ? [required("fieldManager", "is required for apply patch")] : []
  return [
    ...(Buffer.byteLength(manager) > longestManager ? [tooLong("fieldManager", longestManager)] : []),
    ...(/^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u.test(manager)
      ? []
      : [invalid("fieldManager", manager, "must hold printable characters only")]),
  ]
}
