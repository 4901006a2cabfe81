/** The answers to questions about access: what is allowed to a user. Without authorization everything is, to everybody. */

import type { RequestUser } from "../../../apiserver/http/access-control.ts"
import { parseLabelSelector } from "../../../kube/label-selector.ts"
import { everybody } from "../../access/users.ts"
import type { AccessAttributes } from "../../rbac/access-attributes.ts"
import { ruleObject } from "../../rbac/policy-rule.ts"
import { child, text, texts } from "../../rules/fields.ts"
import type { Fields } from "../../rules/kind-rules.ts"
import type { WriteSurroundings } from "../surroundings.ts"

/** The user of the request itself. */
export const callerOf = ({ caller }: WriteSurroundings): RequestUser => caller?.user ?? everybody

/** The user that a SubjectAccessReview names. */
export const subjectOf = (spec: Fields | undefined): RequestUser => {
  const extra = Object.entries(child(spec, "extra") ?? {})
  return {
    username: text(spec, "user"),
    uid: text(spec, "uid"),
    groups: texts(spec, "groups"),
    extra: Object.fromEntries(extra.map(([key]) => [key, texts(child(spec, "extra"), key)])),
  }
}

/** The status of a review of access; `spec` has been validated. */
export const reviewAccess = ({ access }: WriteSurroundings, user: RequestUser, spec: Fields | undefined): Fields => {
  if (access === undefined) return { allowed: true }
  const { isAllowed, reason } = access.authorizer.authorize(user, attributesIn(spec))
  const problem = selectorProblem(child(spec, "resourceAttributes"))
  return { allowed: isAllowed, ...(reason !== "" && { reason }), ...(problem !== "" && { evaluationError: problem }) }
}

const attributesIn = (spec: Fields | undefined): AccessAttributes => {
  const paths = child(spec, "nonResourceAttributes")
  if (paths !== undefined) return { type: "path", verb: text(paths, "verb"), path: text(paths, "path") }
  const given = child(spec, "resourceAttributes")
  return {
    type: "resource",
    verb: text(given, "verb"),
    group: text(given, "group"),
    resource: text(given, "resource"),
    subresource: text(given, "subresource"),
    namespace: text(given, "namespace"),
    name: text(given, "name"),
  }
}

/** Rules know no selectors, so an unreadable one changes no decision. */
const selectorProblem = (given: Fields | undefined): string => {
  const raw = text(child(given, "labelSelector"), "rawSelector")
  const isUnreadable = raw !== "" && "problem" in parseLabelSelector(raw)
  return isUnreadable ? "spec.resourceAttributes.labelSelector ignored due to parse error" : ""
}

/** The status of a SelfSubjectRulesReview. */
export const reviewRules = (around: WriteSurroundings, namespace: string): Fields => {
  if (around.access === undefined) return everything
  const { rules, problem } = around.access.book.rulesFor(callerOf(around), namespace)
  return {
    resourceRules: rules.filter(({ resources }) => resources.length > 0).map(ruleObject),
    nonResourceRules: rules.filter(({ nonResourceURLs }) => nonResourceURLs.length > 0).map(ruleObject),
    incomplete: false,
    ...(problem !== "" && { evaluationError: problem }),
  }
}

const everything: Fields = {
  resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
  incomplete: false,
}
