/**
 * Reviews: questions about identity and access in the form of objects; the response is a 201 and the object with its
 * status. Bodies that the real server refuses are refused in its words.
 */
import { badRequest, invalid, type RequestUser, type Resource } from "../../../apiserver/index.ts"
import { parseLabelSelector } from "../../../kube/offline.ts"
import { issuer, type TokenOwner } from "../../access/account-tokens.ts"
import { everybody } from "../../access/users.ts"
import { type AccessAttributes, onResource } from "../../rbac/access-attributes.ts"
import { ruleObject } from "../../rbac/policy-rule.ts"
import { child, text, texts } from "../../rules/fields.ts"
import type { Fields, MutableObject } from "../../rules/kind-rules.ts"
import { encodeObject, withoutVersion } from "../../store/object-encoding.ts"
import { refuse } from "../../store/refusal.ts"
import { timestamp } from "../../store/stamps.ts"
import { settleNamespace } from "../admission.ts"
import { trackCreation } from "../field-owners.ts"
import { checkFields, decodeBody } from "../request/request-body.ts"
import { invalidObject } from "../request/write-failures.ts"
import type { WriteOptions } from "../request/write-options.ts"
import type { WriteRequest, Written } from "../request/write-request.ts"
import type { WriteSurroundings } from "../surroundings.ts"
import { admitAction } from "../webhook-points.ts"

// Identifies the owner of a token. Without authorization, any token that is not a ServiceAccount's is that of the only
// user.

/** The status of a TokenReview; `asked` are the requested audiences, none for the server itself. */
const reviewToken = (around: WriteSurroundings, token: string, asked: ReadonlyArray<string>): Fields => {
  const wanted = asked.length === 0 ? [issuer] : asked
  const owner = ownerOf(around, token, wanted)
  if (owner.type === "valid") return { authenticated: true, user: owner.user, audiences: owner.audiences }
  const { problem } = owner
  return { user: {}, error: problem === "" ? "invalid bearer token" : `[invalid bearer token, ${problem}]` }
}

const ownerOf = ({ access, tokens }: WriteSurroundings, token: string, wanted: ReadonlyArray<string>): TokenOwner => {
  if (access !== undefined) return access.authenticator.ownerOf(token, wanted)
  const owner = tokens.ownerOf(token, wanted)
  const isOfOnlyUser = owner.type === "invalid" && owner.problem === "" && wanted.includes(issuer)
  return isOfOnlyUser ? { type: "valid", user: everybody, audiences: [issuer] } : owner
}

export const isReview = ({ gvk }: Resource): boolean =>
  gvk.group === "authorization.k8s.io" || gvk.group === "authentication.k8s.io"

/** POST to a collection of reviews. Throws Refusal. */
export const review = (around: WriteSurroundings, request: WriteRequest, options: WriteOptions): Written => {
  const { resource, namespace } = request
  const kind = around.kindOf(resource)
  const { object, text: json } = decodeBody(request.body, request.contentType, resource)
  checkFields(kind, object, json, options)
  if (resource.namespaced) settleNamespace(resource, object, namespace)
  object.metadata.creationTimestamp = undefined
  admitAction(around, request, resource.gvk, object, options)
  const answer = answers[resource.gvk.kind]?.(around, object) ?? {}
  if (answer.isTracked === true) object.metadata.managedFields = trackCreation(around, kind, object, options.manager)
  checkMetadata(resource, object)
  const whole: MutableObject = Object.assign({}, object, answer.members)
  return {
    type: "written",
    status: 201,
    json: withoutVersion(encodeObject(resource, whole)),
    warnings: options.warnings,
  }
}

interface ReviewAnswer {
  readonly members?: Fields
  /** The response names the field manager, as if the object were stored. */
  readonly isTracked?: boolean
}

const answers: Readonly<Record<string, (around: WriteSurroundings, object: MutableObject) => ReviewAnswer>> = {
  SelfSubjectAccessReview: (around, object) => {
    checkAttributes(object, false)
    return tracked(reviewAccess(around, callerOf(around), child(object, "spec")))
  },
  SubjectAccessReview: (around, object) => reviewOther(around, object),
  LocalSubjectAccessReview: (around, object) => reviewOther(around, object),
  SelfSubjectRulesReview: (around, object) => {
    const namespace = text(child(object, "spec"), "namespace")
    if (namespace === "") return refuse(badRequest("no namespace on request"))
    return { members: { metadata: {}, spec: {}, status: reviewRules(around, namespace) } }
  },
  SelfSubjectReview: (around) => {
    const metadata = { creationTimestamp: timestamp(around.clock) }
    return { members: { metadata, status: { userInfo: callerOf(around) } } }
  },
  TokenReview: (around, object) => {
    const spec = child(object, "spec")
    if (text(spec, "token") === "") {
      return refuse(badRequest("token is required for TokenReview in authentication"))
    }
    return tracked(reviewToken(around, text(spec, "token"), texts(spec, "audiences")))
  },
}

const reviewOther = (around: WriteSurroundings, object: MutableObject): ReviewAnswer => {
  checkAttributes(object, true)
  const spec = child(object, "spec")
  return tracked(reviewAccess(around, subjectOf(spec), spec))
}

const tracked = (status: Fields): ReviewAnswer => ({ members: { status }, isTracked: true })

/** The server's errors name only the group: a review has no kind when it is validated. */
const nameless: Resource = {
  gvk: { group: "authorization.k8s.io", version: "v1", kind: "" },
  plural: "",
  namespaced: false,
}

const refuseField = (field: string, value: unknown, detail: string): never => {
  const failure = invalidObject(nameless, "", [invalid(field, value, detail)])
  const { kind: _kind, ...details } = failure.details ?? {}
  return refuse({ ...failure, details })
}

const checkAttributes = (object: MutableObject, needsSubject: boolean): void => {
  const spec = child(object, "spec")
  const resourceAttributes = child(spec, "resourceAttributes")
  const paths = child(spec, "nonResourceAttributes")
  const namespace = text(object.metadata, "namespace")
  const asked = text(resourceAttributes, "namespace")
  if (object.kind === "LocalSubjectAccessReview" && asked !== namespace)
    refuseField("spec.resourceAttributes.namespace", asked, "must match metadata.namespace")
  if (resourceAttributes !== undefined && paths !== undefined)
    refuseField("spec.nonResourceAttributes", paths, "cannot be specified in combination with resourceAttributes")
  if (resourceAttributes === undefined && paths === undefined) {
    const detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
    refuseField("spec.resourceAttributes", null, detail)
  }
  if (needsSubject && text(spec, "user") === "" && texts(spec, "groups").length === 0)
    refuseField("spec.user", "", "at least one of user or group must be specified")
}

/** A review of access has no metadata: no name, no labels, nothing. */
const checkMetadata = ({ gvk }: Resource, { metadata }: MutableObject): void => {
  if (gvk.group !== "authorization.k8s.io" || gvk.kind === "SelfSubjectRulesReview") return
  const { managedFields: _fields, namespace, ...rest } = metadata
  const mayHaveNamespace = gvk.kind === "LocalSubjectAccessReview"
  const isEmpty = Object.values(rest).every((value) => value === undefined) && (mayHaveNamespace || !namespace)
  if (!isEmpty) refuseField("metadata", metadata, "must be empty")
}

// The answers to questions about access: what is allowed to a user. Without authorization everything is, to everybody.

/** The user of the request itself. */
export const callerOf = ({ caller }: WriteSurroundings): RequestUser => caller?.user ?? everybody

/** The user that a SubjectAccessReview names. */
const subjectOf = (spec: Fields | undefined): RequestUser => {
  const extra = Object.entries(child(spec, "extra") ?? {})
  return {
    username: text(spec, "user"),
    uid: text(spec, "uid"),
    groups: texts(spec, "groups"),
    extra: Object.fromEntries(extra.map(([key]) => [key, texts(child(spec, "extra"), key)])),
  }
}

/** The status of a review of access; `spec` has been validated. */
const reviewAccess = ({ access }: WriteSurroundings, user: RequestUser, spec: Fields | undefined): Fields => {
  if (access === undefined) return { allowed: true }
  const { isAllowed, reason } = access.authorizer.authorize(user, attributesIn(spec))
  const problem = selectorProblem(child(spec, "resourceAttributes"))
  return { allowed: isAllowed, ...(reason !== "" && { reason }), ...(problem !== "" && { evaluationError: problem }) }
}

const attributesIn = (spec: Fields | undefined): AccessAttributes => {
  const paths = child(spec, "nonResourceAttributes")
  if (paths !== undefined) return { type: "path", verb: text(paths, "verb"), path: text(paths, "path") }
  const given = child(spec, "resourceAttributes")
  const [group, subresource] = [text(given, "group"), text(given, "subresource")]
  const about = { group, subresource, namespace: text(given, "namespace"), name: text(given, "name") }
  return onResource(text(given, "verb"), text(given, "resource"), about)
}

/** Rules know no selectors, so an unreadable one changes no decision. */
const selectorProblem = (given: Fields | undefined): string => {
  const raw = text(child(given, "labelSelector"), "rawSelector")
  const isUnreadable = raw !== "" && "problem" in parseLabelSelector(raw)
  return isUnreadable ? "spec.resourceAttributes.labelSelector ignored due to parse error" : ""
}

/** The status of a SelfSubjectRulesReview. */
const reviewRules = (around: WriteSurroundings, namespace: string): Fields => {
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
