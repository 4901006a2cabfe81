/** The query of a write, read and validated as Kubernetes 1.34.4 does, in its words. */

import { badRequest, type FailureCause } from "../../apiserver/answers/failure.ts"
import { flag } from "../../apiserver/list/list-options.ts"
import { goQuote } from "../schema/go-quote.ts"
import { refuse } from "./refusal.ts"
import { invalidOptions } from "./write-failures.ts"
import type { WriteRequest, WriteVerb } from "./write-request.ts"

export type FieldValidation = "Ignore" | "Warn" | "Strict"

export interface WriteOptions {
  /** Everything is done but storing. */
  readonly dryRun: boolean
  /** Whom server-side apply takes the write for. */
  readonly manager: string
  readonly fieldValidation: FieldValidation
  /** An apply takes fields from other managers. */
  readonly force: boolean
  /** What the answer will warn of, be it a yes or a no; grows while the write is looked at. */
  readonly warnings: string[]
}

const kinds: Readonly<Record<WriteVerb, string>> = {
  create: "CreateOptions",
  update: "UpdateOptions",
  patch: "PatchOptions",
  delete: "DeleteOptions",
  deletecollection: "DeleteOptions",
}

/** The first part of a User-Agent, as far as it can be printed; `unknown` for none. At most 128 bytes. */
export const managerOf = (userAgent: string): string => {
  const slash = userAgent.indexOf("/")
  const manager = (slash < 0 ? userAgent : userAgent.slice(0, slash)).slice(0, 128)
  return manager === "" ? "unknown" : manager
}

/** Throws Refusal with a 422, or a 400 for what cannot be read at all. */
export const parseWriteOptions = (
  { verb, query, userAgent, contentType }: WriteRequest,
  warnings: string[],
): WriteOptions => {
  if (query.size === 0 && contentType !== applyPatch) {
    return { dryRun: false, manager: managerOf(userAgent), fieldValidation: "Warn", force: false, warnings }
  }
  const manager = query.get("fieldManager") ?? ""
  const validation = query.get("fieldValidation") ?? ""
  const dryRun = query.getAll("dryRun").filter((value) => value !== "")
  const causes = [
    ...dryRunCauses(dryRun),
    ...managerCauses(manager, contentType === applyPatch),
    ...validationCauses(validation),
    ...(query.has("force") && contentType !== applyPatch
      ? [cause("FieldValueForbidden", "force", "Forbidden: may not be specified for non-apply patch")]
      : []),
  ]
  if (causes.length > 0) refuse(invalidOptions(kinds[verb], causes))
  return {
    dryRun: dryRun.length > 0,
    manager: manager === "" ? managerOf(userAgent) : manager,
    fieldValidation: validation === "" ? "Warn" : (validation as FieldValidation),
    force: flag(query, "force") ?? false,
    warnings,
  }
}

/** Both media types of a server-side apply mean this one: a body in JSON is YAML too. */
export const applyPatch = "application/apply-patch+yaml"

/** Whole seconds or absent; throws Refusal with Go's words. */
export const integerParameter = (query: URLSearchParams, name: string): number | undefined => {
  const text = query.get(name)
  if (text === null || text === "") return undefined
  if (!/^[+-]?\d{1,15}$/.test(text)) {
    return refuse(badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`))
  }
  return Number(text)
}

type Cause = Required<FailureCause>

export const cause = (reason: string, field: string, message: string): Cause => ({ reason, message, field })

export const dryRunCauses = (dryRun: ReadonlyArray<string>): ReadonlyArray<Cause> => {
  const unknown = dryRun.filter((value) => value !== "All")
  if (unknown.length === 0) return []
  const message = `Unsupported value: ${JSON.stringify(dryRun)}: supported values: "All"`
  return [cause("FieldValueNotSupported", "dryRun", message)]
}

const managerCauses = (manager: string, required: boolean): ReadonlyArray<Cause> => {
  if (manager === "") {
    return required ? [cause("FieldValueRequired", "fieldManager", "Required value: is required for apply patch")] : []
  }
  const causes: Cause[] = []
  if (Buffer.byteLength(manager) > 128) {
    causes.push(cause("FieldValueTooLong", "fieldManager", "Too long: may not be more than 128 bytes"))
  }
  let position = 0
  for (const character of manager) {
    if (!/[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(character)) {
      const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")
      const message = `Invalid value: ${goQuote(manager)}: invalid character U+${code} (at position ${position})`
      causes.push(cause("FieldValueInvalid", "fieldManager", message))
    }
    position += Buffer.byteLength(character)
  }
  return causes
}

const validationCauses = (value: string): ReadonlyArray<Cause> => {
  if (value === "" || value === "Ignore" || value === "Warn" || value === "Strict") return []
  const message = `Unsupported value: ${JSON.stringify(value)}: supported values: "", "Ignore", "Strict", "Warn"`
  return [cause("FieldValueNotSupported", "fieldValidation", message)]
}
