/** Tokens for ServiceAccounts, on request: `serviceaccounts/NAME/token`. */
import { badRequest, type Change, invalid, type Resource } from "../../../apiserver/index.ts"
import { issuer } from "../../access/account-tokens.ts"
import { accountUsername } from "../../access/users.ts"
import { child, isAbsent, number, text, texts } from "../../rules/fields.ts"
import type { Fields, MutableObject } from "../../rules/kind-rules.ts"
import { stateOf } from "../../store/object-encoding.ts"
import { refuse } from "../../store/refusal.ts"
import { timestamp } from "../../store/stamps.ts"
import { settleNamespace } from "../admission.ts"
import { decodeBody } from "../request/request-body.ts"
import { conflict, invalidObject } from "../request/write-failures.ts"
import type { WriteOptions } from "../request/write-options.ts"
import type { WriteRequest, Written } from "../request/write-request.ts"
import { existingOf, type WriteSurroundings } from "../surroundings.ts"
import { admitAction } from "../webhook-points.ts"

const gvk = { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" }
/** As errors name it. */
const tokenKind: Resource = { gvk, plural: "TokenRequest", namespaced: true }

/** Seconds. */
const usualLifetime = 3600

/** POST. Default one hour for the server's own audience. Throws Refusal. */
export const requestToken = (around: WriteSurroundings, request: WriteRequest, options: WriteOptions): Written => {
  const { resource, namespace, name } = request
  const { object } = decodeBody(request.body, request.contentType, resource, gvk)
  settleNamespace(resource, object, namespace)
  settleAccountName(object, name)
  const account = existingOf(around, request).existing.change
  settleAccountUid(object, account)
  const spec = child(object, "spec")
  const seconds = number(spec, "expirationSeconds") ?? usualLifetime
  refuseLifetime(seconds)
  const given = texts(spec, "audiences")
  const audiences = given.length === 0 ? [issuer] : given
  object.metadata.creationTimestamp = timestamp(around.clock)
  admitAction(around, request, gvk, object, options)
  const bound = boundTo(around, account, child(spec, "boundObjectRef"))
  const token = around.tokens.sign({
    aud: audiences,
    ...times(around, seconds, audiences, bound),
    iss: issuer,
    jti: around.random.uid(),
    sub: accountUsername(namespace, name),
  })
  const answer = {
    kind: gvk.kind,
    apiVersion: "authentication.k8s.io/v1",
    metadata: object.metadata,
    spec: { audiences, expirationSeconds: seconds, boundObjectRef: spec?.boundObjectRef ?? null },
    status: { token, expirationTimestamp: timestamp(around.clock, seconds) },
  }
  return { type: "written", status: 201, json: JSON.stringify(answer), warnings: options.warnings }
}

const settleAccountName = ({ metadata }: MutableObject, name: string): void => {
  const given = metadata.name ?? ""
  if (given !== "" && given !== name) {
    const error = invalid("metadata.name", given, "must match the service account name if specified")
    refuse(invalidObject(tokenKind, name, [error]))
  }
  metadata.name = name
}

const settleAccountUid = ({ metadata }: MutableObject, { name, uid }: Change): void => {
  const given = metadata.uid ?? ""
  if (given !== "" && given !== uid) {
    const problem = `the UID in the token request (${String(given)}) does not match the UID of the service account (${uid})`
    refuse(conflict(tokenKind, name, problem))
  }
  metadata.uid = uid
}

const shortest = 600
const longest = 2 ** 32

/** Seconds. */
const refuseLifetime = (seconds: number): void => {
  if (seconds >= shortest && seconds <= longest) return
  const limit = seconds < shortest ? "less than 10 minutes" : "larger than 2^32 seconds"
  const error = invalid("spec.expirationSeconds", seconds, `may not specify a duration ${limit}`)
  refuse(invalidObject(tokenKind, "", [error]))
}

/** The claims about the account and the object whose deletion ends the token. */
const boundTo = (around: WriteSurroundings, account: Change, reference: Fields | undefined): Fields => {
  const { namespace, name, uid } = account
  const own = { namespace, serviceaccount: { name, uid } }
  if (reference === undefined) return own
  const [kind, apiVersion] = [text(reference, "kind"), text(reference, "apiVersion")]
  if (apiVersion !== "v1" || (kind !== "Pod" && kind !== "Secret" && kind !== "Node")) {
    const [group, version = ""] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion]
    return refuse(badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${kind}`))
  }
  const object = found(around, kind, namespace, text(reference, "name"))
  const claims =
    kind === "Pod"
      ? { ...own, ...podClaims(around, account, object) }
      : { ...own, [kind.toLowerCase()]: claimOf(object) }
  const asked = text(reference, "uid")
  if (asked === "" || asked === object.uid) return claims
  const problem =
    `the UID in the bound object reference (${asked}) does not match the UID in record. ` +
    "The object might have been deleted and then recreated"
  return refuse(conflict({ gvk: { ...coreVersion, kind }, plural: kind, namespaced: true }, object.name, problem))
}

const coreVersion = { group: "", version: "v1" }

const claimOf = ({ name, uid }: Change): Fields => ({ name, uid })

const found = (around: WriteSurroundings, kind: string, namespace: string, name: string): Change => {
  const resource = around.registry.named(`v1.${kind}`)
  return existingOf(around, { resource, namespace: resource.namespaced ? namespace : "", name }).existing.change
}

const podClaims = (around: WriteSurroundings, account: Change, pod: Change): Fields => {
  const spec = child(stateOf(pod), "spec")
  if (text(spec, "serviceAccountName") !== account.name) {
    const problem = "to pod running with different serviceaccount name."
    return refuse(badRequest(`cannot bind token for serviceaccount ${JSON.stringify(account.name)} ${problem}`))
  }
  const name = text(spec, "nodeName")
  const node = around.store.collection("v1.Node").live.get(name)?.change
  return { pod: claimOf(pod), ...(name !== "" && { node: node === undefined ? { name } : claimOf(node) }) }
}

/** A lifetime that only the kubelet asks for: such a token lives for a year, for clients that never read it again. */
const kubeletLifetime = 3607
const extendedLifetime = 365 * 24 * 60 * 60

const times = (around: WriteSurroundings, seconds: number, audiences: ReadonlyArray<string>, bound: Fields): Fields => {
  const now = Math.floor(around.clock.wallMicros() / 1_000_000)
  const isOwn = audiences.every((audience) => audience === issuer)
  const isExtended = seconds === kubeletLifetime && isOwn && !isAbsent(bound.pod)
  return {
    exp: now + (isExtended ? extendedLifetime : seconds),
    iat: now,
    "kubernetes.io": isExtended ? { ...bound, warnafter: now + seconds } : bound,
    nbf: now,
  }
}
