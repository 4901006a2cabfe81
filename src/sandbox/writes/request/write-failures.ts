/** Failures of writes only: codes, reasons and details of Kubernetes 1.34.4 (recorded from a real server). */

import {
  explained,
  type Failure,
  type FailureCause,
  type FieldError,
  fail,
  invalid,
  objectFailure,
  qualifiedName,
  type Resource,
} from "../../../apiserver/index.ts"

export const alreadyExists = (resource: Resource, name: string, terminating: boolean): Failure => {
  const message = `${qualifiedName(resource)} "${name}" already exists`
  return objectFailure(
    409,
    "AlreadyExists",
    resource,
    name,
    terminating ? `object is being deleted: ${message}` : message,
  )
}

/** By admission plug-ins that compare an object with others in its namespace. */
export const forbiddenObject = (
  resource: Resource,
  name: string,
  problem: string,
  causes?: ReadonlyArray<FailureCause>,
): Failure =>
  objectFailure(
    403,
    "Forbidden",
    resource,
    name,
    `${qualifiedName(resource)} ${JSON.stringify(name)} is forbidden: ${problem}`,
    causes,
  )

export const conflict = (resource: Resource, name: string, problem: string): Failure => {
  const message = `Operation cannot be fulfilled on ${qualifiedName(resource)} "${name}": ${problem}`
  return objectFailure(409, "Conflict", resource, name, message)
}

export const modified = (resource: Resource, name: string): Failure =>
  conflict(
    resource,
    name,
    "the object has been modified; please apply your changes to the latest version and try again",
  )

/** A replacement or a Binding that names the UID or the version of another object. */
export const preconditionUnmet = (
  resource: Resource,
  name: string,
  field: "UID" | "ResourceVersion",
  asked: string,
  actual: string,
): Failure =>
  conflict(
    resource,
    name,
    `Precondition failed: ${field} in precondition: ${asked}, ${field} in object meta: ${actual}`,
  )

/** A deletion whose preconditions do not hold; named by kind, unlike all other conflicts. */
export const preconditionFailed = (resource: Resource, name: string, problem: string): Failure =>
  conflict({ ...resource, plural: resource.gvk.kind }, name, problem)

/** 422 for one field, named by the plural: reported before the kind's rules are checked. */
export const versionRequired = (resource: Resource, name: string): Failure =>
  refusedFields(resource, name, [invalid("metadata.resourceVersion", "", "must be specified for an update")])

/** 422: the patched object is not a valid object of its kind. */
export const invalidPatch = (problem: string): Failure => {
  const { causes, summary } = explained([invalid("patch", "", problem)])
  return fail(422, ` "" is invalid: ${summary}`, { reason: "Invalid", details: { causes } })
}

export const unsupportedMediaType = (accepted: ReadonlyArray<string>): Failure =>
  fail(415, `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`, {
    reason: "UnsupportedMediaType",
  })

/** A PATCH with a type that no kind accepts. */
export const unknownPatchType: Failure = fail(415, "415: Unsupported Media Type", {
  reason: "UnsupportedMediaType",
  details: {},
})

/** A body larger than the server reads. */
export const bodyTooLarge: Failure = fail(413, "Request entity too large: limit is 3145728", {
  reason: "RequestEntityTooLarge",
})

export const namespaceMissing = (namespace: string): Failure =>
  fail(404, `namespaces "${namespace}" not found`, {
    reason: "NotFound",
    details: { name: namespace, kind: "namespaces" },
  })

export const namespaceTerminating = (resource: Resource, namespace: string, name: string): Failure => {
  const problem = `unable to create new content in namespace ${namespace} because it is being terminated`
  const message = `namespace ${namespace} is being terminated`
  return forbiddenObject(resource, name, problem, [
    { reason: "NamespaceTerminating", message, field: "metadata.namespace" },
  ])
}

export const namespaceProtected = (resource: Resource, name: string): Failure =>
  forbiddenObject(resource, name, "this namespace may not be deleted")

/** 501, which the real server never sends: not implemented here, with the reason. */
export const notImplemented = (reason: string): Failure =>
  fail(501, `the sandbox does not implement this: ${reason}`, { reason: "NotImplemented" })

/**
 * The 422 for an object that its rules refuse. `errors` must not be empty. Duplicates are reported once. Events of the new group are stored as Events of the core
 * group; errors name the stored kind.
 */
export const invalidObject = (resource: Resource, name: string, errors: ReadonlyArray<FieldError>): Failure => {
  const { gvk } = resource
  const group = gvk.group === "events.k8s.io" ? "" : gvk.group
  return refusedFields({ ...resource, gvk: { ...gvk, group }, plural: gvk.kind }, name, errors)
}

const refusedFields = (resource: Resource, name: string, errors: ReadonlyArray<FieldError>): Failure => {
  const { causes, summary } = explained(errors)
  const message = `${qualifiedName(resource)} ${JSON.stringify(name)} is invalid: ${summary}`
  return objectFailure(422, "Invalid", resource, name, message, causes)
}
