/** What extends the API: CustomResourceDefinitions, whose schemas must be structural, and configurations of admission webhooks. */

import type { StructuralSchema } from "../../apiserver/index.ts"
import { hostLabelComplaints, subdomainComplaints } from "../../kube/offline.ts"
import { compileCondition } from "../cel/condition.ts"
import { structuralProblems } from "../schema/custom/structural-problems.ts"
import { ruleProblems } from "../schema/validations/rule-problems.ts"
import { between, choice, each, needed } from "./checks.ts"
import { child, ensured, isAbsent, isSame, items, list, text, texts } from "./fields.ts"
import type { CheckChange, Fields, Kind, MutableObject } from "./kind-rules.ts"
import type { Check, Place, RulesByType } from "./type-rules.ts"

const storageVersions = (spec: Fields | undefined): ReadonlyArray<string> =>
  items(spec, "versions")
    .filter((version) => version.storage === true)
    .map((version) => text(version, "name"))

const deriveNames = (spec: Fields): void => {
  const names = ensured(spec, "names")
  const kind = text(names, "kind")
  if (kind === "") return
  if (text(names, "singular") === "") names.singular = kind.toLowerCase()
  if (text(names, "listKind") === "") names.listKind = `${kind}List`
}

const mixedCase: Check = (name, at) => {
  if (typeof name !== "string" || name === "") return
  const complaints = hostLabelComplaints(name.toLowerCase())
  if (complaints.length > 0)
    at.invalid(name, `may have mixed case, but should otherwise match: ${complaints.join(",")}`)
}

const checkDefinition: Check = (_value, root, object) => {
  const spec = child(object, "spec") ?? {}
  const name = text(child(object, "metadata"), "name")
  if (name !== `${text(child(spec, "names"), "plural")}.${text(spec, "group")}`)
    root.at("metadata", "name").invalid(name, 'must be spec.names.plural+"."+spec.group')
  const [stored, known] = [storageVersions(spec), list(child(object, "status"), "storedVersions")]
  if (stored.length !== 1)
    root.at("spec", "versions").invalid(stored, "must have exactly one version marked as storage version")
  const place = root.at("status", "storedVersions")
  if (known.length === 0) place.invalid(null, "must have at least one stored version")
  else
    for (const version of stored)
      if (!known.includes(version)) place.invalid(known, `must have the storage version ${version}`)
  checkSchemas(spec, root)
}

/** In the server's internal form of a definition, a schema that all versions share is at the top. */
const checkSchemas = (spec: Fields, root: Place): void => {
  const schemas = items(spec, "versions").map((version): StructuralSchema | undefined =>
    child(child(version, "schema"), "openAPIV3Schema"),
  )
  const [first] = schemas
  const isShared = schemas.every((schema) => isSame(schema, first))
  for (const [index, schema] of schemas.entries()) {
    if (schema === undefined || (isShared && index > 0)) continue
    const field = isShared ? "spec.validation.openAPIV3Schema" : `spec.versions[${index}].schema.openAPIV3Schema`
    const problems = structuralProblems(schema, field)
    // Rules are read with the types of the schema, so it must have them.
    for (const problem of problems.length > 0 ? problems : ruleProblems(schema, field)) root.add(problem)
  }
}

const checkVersionSchema: Check = (schema, at) => {
  if (isAbsent(child({ schema }, "schema")?.openAPIV3Schema)) at.at("openAPIV3Schema").required()
}

/** A version that becomes the stored one is added to `storedVersions`. */
const rememberStored = (object: MutableObject): void => {
  const status = { ...child(object, "status") }
  const known = list(status, "storedVersions")
  const added = storageVersions(child(object, "spec"))
    .slice(0, 1)
    .filter((name) => !known.includes(name))
  if (added.length > 0) object.status = { ...status, storedVersions: [...known, ...added] }
}

const checkDefinitionChange: CheckChange = (object, old, root) => {
  const [spec, before] = [child(object, "spec") ?? {}, child(old, "spec") ?? {}]
  const isEstablished = items(child(old, "status"), "conditions").some(
    (condition) => condition.type === "Established" && condition.status === "True",
  )
  if (!isEstablished) return
  if (spec.scope !== before.scope) root.at("spec", "scope").immutable(spec.scope)
  const kind = text(child(spec, "names"), "kind")
  if (kind !== text(child(before, "names"), "kind")) root.at("spec", "names", "kind").immutable(kind)
}

const checkUrl: Check = (url, at) => {
  if (typeof url !== "string") return
  const form = "desired format: https://host[/path]"
  const scheme = /^([^:/?#]+):/.exec(url)?.[1] ?? ""
  if (scheme !== "https") at.invalid(scheme, `'https' is the only allowed URL scheme; ${form}`)
  else if (!URL.canParse(url)) at.invalid(url, `url must be a valid URL; ${form}`)
}

const eitherClient: Check = (_value, at, config) => {
  if (isAbsent(config.url) === isAbsent(config.service)) at.required("exactly one of url or service is required")
}

/** Of AdmissionReviews. */
export const reviewVersions = ["v1", "v1beta1"]

const checkVersions: Check = (_value, at, webhook) => {
  const versions = texts(webhook, "admissionReviewVersions")
  if (versions.length > 0 && !versions.some((version) => reviewVersions.includes(version)))
    at.invalid(versions, `must include at least one of ${reviewVersions.join(", ")}`)
}

const checkCondition: Check = (value, at) => {
  const expression = typeof value === "string" ? value.trim() : ""
  const program = expression === "" ? undefined : compileCondition(expression)
  if (program === undefined) at.required()
  else if (typeof program === "string") at.invalid(expression, program)
}

const webhookName: Check = (name, at) => {
  if (typeof name !== "string" || name === "") return
  const complaints = subdomainComplaints(name)
  at.complain(name, complaints)
  if (complaints.length === 0 && name.split(".").length < 3)
    at.invalid(name, "should be a domain with at least three segments separated by dots")
}

const webhook = {
  name: webhookName,
  sideEffects: needed("must specify one of None, NoneOnDryRun"),
  timeoutSeconds: between(1, 30, "the timeout value must be between 1 and 30 seconds"),
  admissionReviewVersions: [needed(`must specify one of ${reviewVersions.join(", ")}`), checkVersions],
}

export const types: RulesByType = {
  "apiextensions/v1.CustomResourceDefinition": { checks: { self: checkDefinition } },
  "apiextensions/v1.CustomResourceDefinitionSpec": { derive: deriveNames },
  "apiextensions/v1.CustomResourceDefinitionVersion": { checks: { schema: checkVersionSchema } },
  "apiextensions/v1.CustomResourceDefinitionNames": {
    checks: { kind: mixedCase, listKind: mixedCase },
  },
  "admissionregistration/v1.MutatingWebhook": { checks: webhook },
  "admissionregistration/v1.ValidatingWebhook": { checks: webhook },
  "admissionregistration/v1.MatchCondition": { checks: { expression: checkCondition } },
  "admissionregistration/v1.RuleWithOperations": {
    checks: { operations: each(choice("*", "CONNECT", "CREATE", "DELETE", "UPDATE")), resources: each(needed()) },
  },
  "admissionregistration/v1.WebhookClientConfig": { checks: { self: eitherClient, url: checkUrl } },
  "admissionregistration/v1.ServiceReference": {
    checks: { name: needed("service name is required"), namespace: needed("service namespace is required") },
  },
}

export const kinds: Readonly<Record<string, Kind>> = {
  "apiextensions.k8s.io/CustomResourceDefinition": {
    newStatus: (object) => ({ storedVersions: storageVersions(child(object, "spec")).slice(0, 1) }),
    prepare: rememberStored,
    checkChange: checkDefinitionChange,
  },
}
