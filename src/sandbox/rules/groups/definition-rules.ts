/** CustomResourceDefinitions: the envelope, and whether the schemas in it are structural. */

import { type Errors, invalid, invalidEach, notSupported, required } from "../../../apiserver/answers/field-error.ts"
import type { StructuralSchema } from "../../../apiserver/openapi/structural-schema.ts"
import { hostLabelComplaints, subdomainComplaints } from "../../../kube/names.ts"
import { structuralProblems } from "../../schema/custom/structural-problems.ts"
import { ruleProblems } from "../../schema/validations/rule-problems.ts"
import { child, ensured, isAbsent, isSame, items, list, text } from "../fields.ts"
import type { Kind } from "../kind.ts"
import type { Fields, MutableObject } from "../kind-rules.ts"

const emptyStatus = (): Fields => ({ conditions: null, acceptedNames: { plural: "", kind: "" }, storedVersions: null })

const storageVersions = (spec: Fields | undefined): ReadonlyArray<string> =>
  items(spec, "versions")
    .filter((version) => version.storage === true)
    .map((version) => text(version, "name"))

const fillNames = (spec: Fields): void => {
  const names = ensured(spec, "names")
  const kind = text(names, "kind")
  if (kind === "") return
  if (text(names, "singular") === "") names.singular = kind.toLowerCase()
  if (text(names, "listKind") === "") names.listKind = `${kind}List`
}

const scopes = ["Cluster", "Namespaced"]

const check = (object: MutableObject, errors: Errors): void => {
  const spec = child(object, "spec") ?? {}
  const names = child(spec, "names")
  const group = text(spec, "group")
  const name = text(object.metadata, "name")
  if (name !== `${text(names, "plural")}.${group}`)
    errors.push(invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group'))
  if (group === "") errors.push(required("spec.group"))
  else if (subdomainComplaints(group).length > 0)
    errors.push(...invalidEach("spec.group", group, subdomainComplaints(group)))
  else if (!group.includes(".")) errors.push(invalid("spec.group", group, "should be a domain with at least one dot"))
  const scope = text(spec, "scope")
  if (scope === "") errors.push(required("spec.scope"))
  else if (!scopes.includes(scope)) errors.push(notSupported("spec.scope", scope, scopes))
  const stored = storageVersions(spec)
  for (const [index, version] of items(spec, "versions").entries()) {
    const place = `spec.versions[${index}]`
    const complaints = hostLabelComplaints(text(version, "name"))
    if (complaints.length > 0) errors.push(invalid(`${place}.name`, text(version, "name"), complaints.join(",")))
    if (isAbsent(child(version, "schema")?.openAPIV3Schema)) errors.push(required(`${place}.schema.openAPIV3Schema`))
  }
  if (stored.length !== 1)
    errors.push(invalid("spec.versions", stored, "must have exactly one version marked as storage version"))
  checkNames(names, errors)
  const known = list(child(object, "status"), "storedVersions")
  if (known.length === 0) errors.push(invalid("status.storedVersions", null, "must have at least one stored version"))
  else
    for (const version of stored)
      if (!known.includes(version))
        errors.push(invalid("status.storedVersions", known, `must have the storage version ${version}`))
  checkSchemas(spec, errors)
}

/** In the server's internal form of a definition, a schema that all versions share is at the top. */
const checkSchemas = (spec: Fields, errors: Errors): void => {
  const schemas = items(spec, "versions").map((version) => child(child(version, "schema"), "openAPIV3Schema"))
  const [first] = schemas
  const isShared = schemas.every((schema) => isSame(schema, first))
  for (const [index, schema] of schemas.entries()) {
    if (schema === undefined || (isShared && index > 0)) continue
    const field = isShared ? "spec.validation.openAPIV3Schema" : `spec.versions[${index}].schema.openAPIV3Schema`
    const problems = structuralProblems(schema as StructuralSchema, field)
    // Rules are read with the types of the schema, so it must have them.
    errors.push(...(problems.length > 0 ? problems : ruleProblems(schema as StructuralSchema, field)))
  }
}

const checkNames = (names: Fields | undefined, errors: Errors): void => {
  for (const key of ["plural", "singular", "kind", "listKind"]) {
    const value = text(names, key)
    const complaints = hostLabelComplaints(value.toLowerCase())
    if (value === "") errors.push(required(`spec.names.${key}`))
    else if (complaints.length > 0)
      errors.push(
        invalid(
          `spec.names.${key}`,
          value,
          key.toLowerCase().endsWith("kind")
            ? `may have mixed case, but should otherwise match: ${complaints.join(",")}`
            : complaints.join(","),
        ),
      )
  }
}

const storedStatus = (object: MutableObject): Fields => {
  const stored = storageVersions(child(object, "spec")).slice(0, 1)
  return stored.length === 0 ? emptyStatus() : { ...emptyStatus(), storedVersions: stored }
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

export const definitionKind: Kind = {
  defaults: {
    make: {
      spec: { make: { conversion: { set: { strategy: "None" } } }, derive: fillNames },
      status: {
        derive: (status) => {
          for (const [key, value] of Object.entries(emptyStatus())) status[key] ??= value
        },
      },
    },
  },
  newStatus: storedStatus,
  generation: ["spec"],
  prepareUpdate: rememberStored,
  statusKeeps: ["labels", "annotations", "finalizers", "ownerReferences"],
  unconditionalUpdate: false,
  check,
  checkChange: (object, old, errors) => {
    const [spec, before] = [child(object, "spec") ?? {}, child(old, "spec") ?? {}]
    const established = items(child(old, "status"), "conditions").some(
      (condition) => condition.type === "Established" && condition.status === "True",
    )
    if (!established) return
    const scope = text(spec, "scope")
    if (scope !== text(before, "scope")) errors.push(invalid("spec.scope", scope, "field is immutable"))
    const kind = text(child(spec, "names"), "kind")
    if (kind !== text(child(before, "names"), "kind"))
      errors.push(invalid("spec.names.kind", kind, "field is immutable"))
  },
}
