/** Failures of writes only: codes, reasons and details of Kubernetes 1.34.4 (recorded from a real server). */

import {
  explained,
  type Failure,
  type FieldError,
  fail,
  groupDetail,
  invalid,
  qualifiedName,
  type Resource,
} from "../../../apiserver/index.ts"

const detailsOf = (resource: Resource, name: string): Failure["details"] & object => ({
  ...(name === "" ? {} : { name }),
  ...groupDetail(resource),
  kind: resource.plural,
})

export const alreadyExists = (resource: Resource, name: string, terminating: boolean): Failure =>
  fail(409, `${terminating ? "object is being deleted: " : ""}${qualifiedName(resource)} "${name}" already exists`, {
    reason: "AlreadyExists",
    details: detailsOf(resource, name),
  })

/** By admission plug-ins that compare an object with others in its namespace. */
export const forbiddenObject = (resource: Resource, name: string, problem: string): Failure =>
  fail(403, `${qualifiedName(resource)} "${name}" is forbidden: ${problem}`, {
    reason: "Forbidden",
    details: detailsOf(resource, name),
  })

/** `what` is `deployments.apps` for most, the kind for preconditions of a deletion. */
export const conflict = (resource: Resource, name: string, problem: string): Failure =>
  fail(409, `Operation cannot be fulfilled on ${qualifiedName(resource)} "${name}": ${problem}`, {
    reason: "Conflict",
    details: detailsOf(resource, name),
  })

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
export const preconditionFailed = (resource: Resource, name: string, problem: string): Failure => {
  const { group, kind } = resource.gvk
  return fail(
    409,
    `Operation cannot be fulfilled on ${group === "" ? kind : `${kind}.${group}`} "${name}": ${problem}`,
    {
      reason: "Conflict",
      details: { name, ...groupDetail(resource), kind },
    },
  )
}

/** 422 for one field, named by the plural: reported before the kind's rules are checked. */
export const versionRequired = (resource: Resource, name: string): Failure => {
  const { causes, summary } = explained([invalid("metadata.resourceVersion", "", "must be specified for an update")])
  return fail(422, `${qualifiedName(resource)} "${name}" is invalid: ${summary}`, {
    reason: "Invalid",
    details: { ...detailsOf(resource, name), causes },
  })
}

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

export const namespaceTerminating = (resource: Resource, namespace: string, name: string): Failure =>
  fail(
    403,
    `${qualifiedName(resource)} "${name}" is forbidden: unable to create new content in namespace ${namespace} because it ` +
      "is being terminated",
    {
      reason: "Forbidden",
      details: {
        ...detailsOf(resource, name),
        causes: [
          {
            reason: "NamespaceTerminating",
            message: `namespace ${namespace} is being terminated`,
            field: "metadata.namespace",
          },
        ],
      },
    },
  )

export const namespaceProtected = (resource: Resource, name: string): Failure =>
  fail(403, `namespaces "${name}" is forbidden: this namespace may not be deleted`, {
    reason: "Forbidden",
    details: detailsOf(resource, name),
  })

/** 501, which the real server never sends: not implemented here, with the reason. */
export const notImplemented = (reason: string): Failure =>
  fail(501, `the sandbox does not implement this: ${reason}`, { reason: "NotImplemented" })

/** Events of the new group are stored as Events of the core group; errors name the stored kind. */
const errorKind = ({ gvk }: Resource): { readonly group: string; readonly kind: string } =>
  gvk.group === "events.k8s.io" ? { group: "", kind: gvk.kind } : gvk

/** The 422 for an object that its rules refuse. `errors` must not be empty. Duplicates are reported once. */
export const invalidObject = (resource: Resource, name: string, errors: ReadonlyArray<FieldError>): Failure => {
  const { group, kind } = errorKind(resource)
  const { causes, summary } = explained(errors)
  return {
    type: "failure",
    code: 422,
    reason: "Invalid",
    message: `${group === "" ? kind : `${kind}.${group}`} ${JSON.stringify(name)} is invalid: ${summary}`,
    details: {
      ...(name === "" ? {} : { name }),
      ...(group === "" ? {} : { group }),
      kind,
      causes,
    },
  }
}
