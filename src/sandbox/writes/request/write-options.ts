/** The query of a write, read and validated as Kubernetes 1.34.4 does. */

import { parse as parseYaml } from "yaml"
import {
  badRequest,
  type Failure,
  type FieldError,
  fail,
  flag,
  forbidden,
  integerOf,
  invalid,
  invalidOptions,
  notSupported,
  type ResourceRegistry,
  required,
  tooLong,
} from "../../../apiserver/index.ts"
import { apiVersionOf } from "../../../kube/offline.ts"
import { fieldsOf, number, text } from "../../rules/fields.ts"
import type { Fields } from "../../rules/kind-rules.ts"
import { refuse } from "../../store/refusal.ts"
import { accepted, yamlProblem } from "./request-body.ts"
import { unsupportedMediaType } from "./write-failures.ts"
import type { WriteRequest, WriteVerb } from "./write-request.ts"

export interface WriteOptions {
  /** Everything is done except storing. */
  readonly dryRun: boolean
  /** The field manager of the write. */
  readonly manager: string
  readonly fieldValidation: (typeof validations)[number]
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
  const asked = query.get("fieldValidation") ?? ""
  const validation = validations.find((one) => one === asked)
  const dryRun = query.getAll("dryRun").filter((value) => value !== "")
  const errors = [...dryRunErrors(dryRun), ...managerErrors(manager, contentType === applyPatch)]
  if (asked !== "" && validation === undefined)
    errors.push(notSupported("fieldValidation", asked, ["", ...validations]))
  if (verb === "patch" && query.has("force") && contentType !== applyPatch)
    errors.push(forbidden("force", "may not be specified for non-apply patch"))
  if (errors.length > 0) refuse(invalidOptions(kinds[verb], errors))
  return {
    dryRun: dryRun.length > 0,
    manager: manager === "" ? managerOf(userAgent) : manager,
    fieldValidation: validation ?? "Warn",
    force: flag(query, "force") ?? false,
    query,
    warnings,
  }
}

/** Both media types of a server-side apply mean this one: a body in JSON is YAML too. */
export const applyPatch = "application/apply-patch+yaml"

const validations = ["Ignore", "Strict", "Warn"] as const

const dryRunErrors = (dryRun: ReadonlyArray<string>): FieldError[] =>
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

// The options of a deletion, from the body or the query: a body that is not empty overrides the query, as in the real
// server.

export type Propagation = (typeof policies)[number]

export interface DeleteOptions {
  readonly dryRun: boolean
  /** Whole seconds; if absent, the object decides. Negative ones mean 1. */
  readonly gracePeriodSeconds: number | undefined
  /** If absent, the object's finalizers decide. */
  readonly propagation: Propagation | undefined
  /** The empty string for none. */
  readonly uid: string
  readonly resourceVersion: string
}

export const noDeleteOptions: DeleteOptions = {
  dryRun: false,
  gracePeriodSeconds: undefined,
  propagation: undefined,
  uid: "",
  resourceVersion: "",
}

/** Throws Refusal: 422 for options that contradict each other, 400 or 500 for unreadable ones. */
export const parseDeleteOptions = (request: WriteRequest, registry: ResourceRegistry): DeleteOptions => {
  if (request.body.length === 0 && request.query.size === 0) return noDeleteOptions
  const given = request.body.length > 0 ? fromBody(request, registry) : fromQuery(request.query)
  const { dryRun, propagation, orphan, grace, preconditions } = given
  const errors = [...dryRunErrors(dryRun), ...propagationErrors(propagation, orphan)]
  if (errors.length > 0) refuse(invalidOptions("DeleteOptions", errors))
  const wanted = policies.find((one) => one === propagation) ?? legacyPropagation(orphan)
  return {
    dryRun: dryRun.length > 0,
    gracePeriodSeconds: grace !== undefined && grace < 0 ? 1 : grace,
    propagation: wanted,
    uid: text(preconditions, "uid"),
    resourceVersion: text(preconditions, "resourceVersion"),
  }
}

interface Given {
  readonly dryRun: ReadonlyArray<string>
  readonly propagation: string
  readonly orphan: boolean | undefined
  readonly grace: number | undefined
  readonly preconditions: Fields | undefined
}

const fromQuery = (query: URLSearchParams): Given => ({
  dryRun: query.getAll("dryRun").filter((value) => value !== ""),
  propagation: query.get("propagationPolicy") ?? "",
  orphan: flag(query, "orphanDependents"),
  grace: numberOrRefuse(integerOf(query, "gracePeriodSeconds")),
  preconditions: {
    ...(query.has("uid") && { uid: query.get("uid") }),
    ...(query.has("resourceVersion") && { resourceVersion: query.get("resourceVersion") }),
  },
})

const fromBody = ({ body, contentType, resource }: WriteRequest, registry: ResourceRegistry): Given => {
  if (contentType !== "" && !accepted.includes(contentType)) refuse(unsupportedMediaType(accepted))
  const options = decoded(body.toString("utf8"), contentType)
  const apiVersion = text(options, "apiVersion")
  const kind = text(options, "kind")
  // Every group of built-in kinds includes DeleteOptions.
  const isKnown =
    ["", "v1", "meta.k8s.io/v1", apiVersionOf(resource.gvk)].includes(apiVersion) ||
    registry.all().some((served) => served.custom !== true && apiVersionOf(served.gvk) === apiVersion)
  if ((kind !== "" && kind !== "DeleteOptions") || !isKnown) {
    refuse(fail(500, `no kind "${kind}" is known in version "${apiVersion}"`))
  }
  const dryRun = Array.isArray(options.dryRun) ? options.dryRun.map(String) : []
  const orphan = options.orphanDependents
  return {
    dryRun,
    propagation: text(options, "propagationPolicy"),
    orphan: typeof orphan === "boolean" ? orphan : undefined,
    grace: number(options, "gracePeriodSeconds"),
    preconditions: fieldsOf(options.preconditions),
  }
}

const decoded = (body: string, contentType: string): Fields => {
  if (contentType === "application/yaml") {
    try {
      return fieldsOf(parseYaml(body, { maxAliasCount: 100 })) ?? {}
    } catch (error) {
      return refuse(badRequest(`yaml: ${yamlProblem(error)}`))
    }
  }
  try {
    const value: unknown = JSON.parse(body)
    return fieldsOf(value) ?? refuse(fail(500, "the options are not an object"))
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return refuse(fail(500, `the options are not JSON: ${error.message}`))
  }
}

const legacyPropagation = (orphan: boolean | undefined): Propagation | undefined =>
  orphan === undefined ? undefined : orphan ? "Orphan" : "Background"

const policies = ["Foreground", "Background", "Orphan"] as const

const propagationErrors = (policy: string, orphan: boolean | undefined): FieldError[] => {
  if (policy === "") return []
  if (orphan !== undefined)
    return [invalid("propagationPolicy", policy, "orphanDependents and propagationPolicy cannot be both set")]
  return policies.some((one) => one === policy) ? [] : [notSupported("propagationPolicy", policy, policies)]
}

const numberOrRefuse = (value: number | undefined | Failure): number | undefined =>
  typeof value === "object" ? refuse(value) : value
