/** RBAC: roles and their bindings. */

import { type Errors, invalid, invalidEach, notSupported, required } from "../../../apiserver/answers/field-error.ts"
import { pathSegmentComplaints, subdomainComplaints } from "../../../kube/names.ts"
import { child, isAbsent, isSame, items, list, text } from "../fields.ts"
import type { Kind } from "../kind.ts"
import type { Fields, MutableObject } from "../kind-rules.ts"

const group = "rbac.authorization.k8s.io"

const checkRules = (object: MutableObject, namespaced: boolean, errors: Errors): void => {
  for (const [index, rule] of items(object, "rules").entries()) {
    const place = `rules[${index}]`
    if (list(rule, "verbs").length === 0)
      errors.push(required(`${place}.verbs`, "verbs must contain at least one value"))
    const paths = list(rule, "nonResourceURLs")
    if (paths.length > 0) {
      if (namespaced)
        errors.push(invalid(`${place}.nonResourceURLs`, paths, "namespaced rules cannot apply to non-resource URLs"))
      if (["apiGroups", "resources", "resourceNames"].some((key) => list(rule, key).length > 0))
        errors.push(
          invalid(
            `${place}.nonResourceURLs`,
            paths,
            "rules cannot apply to both regular resources and non-resource URLs",
          ),
        )
      continue
    }
    if (list(rule, "apiGroups").length === 0)
      errors.push(required(`${place}.apiGroups`, "resource rules must supply at least one api group"))
    if (list(rule, "resources").length === 0)
      errors.push(required(`${place}.resources`, "resource rules must supply at least one resource"))
  }
}

const withoutRules = (object: MutableObject): void => {
  if (list(object, "rules").length === 0) object.rules = null
}

const role = (namespaced: boolean): Kind => ({
  name: pathSegmentComplaints,
  defaults: {
    derive: (object) => {
      object.rules ??= null
    },
  },
  // An empty list is owned by the client that sent it, though it is not stored.
  prepareCreate: (object) => withoutRules(object),
  prepareUpdate: (object) => withoutRules(object),
  check: (object, errors) => checkRules(object, namespaced, errors),
})

export const roleKind = role(true)
export const clusterRoleKind = role(false)

const subjectKinds = ["ServiceAccount", "User", "Group"]

const checkSubject = (subject: Fields, namespaced: boolean, field: string, errors: Errors): void => {
  const [kind, name, apiGroup] = [text(subject, "kind"), text(subject, "name"), text(subject, "apiGroup")]
  if (name === "") errors.push(required(`${field}.name`))
  switch (kind) {
    case "ServiceAccount":
      if (name !== "") errors.push(...invalidEach(`${field}.name`, name, subdomainComplaints(name)))
      if (apiGroup !== "") errors.push(notSupported(`${field}.apiGroup`, apiGroup, [""]))
      if (!namespaced && text(subject, "namespace") === "") errors.push(required(`${field}.namespace`))
      return
    case "User":
    case "Group":
      if (apiGroup !== group) errors.push(notSupported(`${field}.apiGroup`, apiGroup, [group]))
      return
    default:
      errors.push(notSupported(`${field}.kind`, kind, subjectKinds))
  }
}

const binding = (namespaced: boolean): Kind => ({
  name: pathSegmentComplaints,
  defaults: {
    make: { roleRef: { set: { apiGroup: group } } },
    each: {
      subjects: {
        derive: (subject) => {
          const person = subject.kind === "User" || subject.kind === "Group"
          if (person && isAbsent(subject.apiGroup)) subject.apiGroup = group
        },
      },
    },
  },
  check: (object, errors) => {
    const reference = child(object, "roleRef")
    const [kind, name, apiGroup] = [text(reference, "kind"), text(reference, "name"), text(reference, "apiGroup")]
    const kinds = namespaced ? ["Role", "ClusterRole"] : ["ClusterRole"]
    if (apiGroup !== group) errors.push(notSupported("roleRef.apiGroup", apiGroup, [group]))
    if (!kinds.includes(kind)) errors.push(notSupported("roleRef.kind", kind, kinds))
    if (name === "") errors.push(required("roleRef.name"))
    else errors.push(...invalidEach("roleRef.name", name, pathSegmentComplaints(name)))
    for (const [index, subject] of items(object, "subjects").entries())
      checkSubject(subject, namespaced, `subjects[${index}]`, errors)
  },
  checkChange: (object, old, errors) => {
    if (isSame(object.roleRef, old.roleRef)) return
    errors.push(invalid("roleRef", object.roleRef, "cannot change roleRef"))
  },
})

export const roleBindingKind = binding(true)
export const clusterRoleBindingKind = binding(false)
