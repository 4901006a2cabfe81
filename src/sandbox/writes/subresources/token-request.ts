/** Tokens for ServiceAccounts: of the real form, but unsigned. Only this server would accept them, and it requires none. */

import { objectNotFound } from "../../../apiserver/answers/failure.ts"
import type { Resource } from "../../../apiserver/kinds/resources.ts"
import { keyOf } from "../../../apiserver/watch/change.ts"
import { child, number, texts } from "../../rules/fields.ts"
import { invalidObject } from "../../rules/invalid-object.ts"
import { timestamp } from "../../timestamp.ts"
import { decodeBody } from "../body/body.ts"
import { refuse } from "../refusal.ts"
import type { WriteSurroundings } from "../surroundings.ts"
import { admitAction } from "../webhooks/admission-points.ts"
import type { WriteOptions } from "../write-options.ts"
import type { WriteRequest, Written } from "../write-request.ts"

const gvk = { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" }
const issuer = "https://kubernetes.default.svc"

/** POST. Default one hour for the server's own audience. Throws Refusal. */
export const requestToken = (around: WriteSurroundings, request: WriteRequest, options: WriteOptions): Written => {
  const { resource, namespace, name } = request
  const { object } = decodeBody(request.body, request.contentType, resource, gvk)
  const account = around.kindOf(resource).collection.live.get(keyOf(namespace, name))?.change
  if (account === undefined) return refuse(objectNotFound(resource, name))
  admitAction(around, request, gvk, object, options)
  const spec = child(object, "spec")
  const seconds = number(spec, "expirationSeconds") ?? 3600
  refuseLifetime(seconds)
  const given = texts(spec, "audiences")
  const audiences = given.length === 0 ? [issuer] : given
  const now = Math.floor(around.clock.wallMicros() / 1_000_000)
  const claims = {
    aud: audiences,
    exp: now + seconds,
    iat: now,
    iss: issuer,
    jti: around.random.uid(),
    "kubernetes.io": { namespace, serviceaccount: { name, uid: account.uid } },
    nbf: now,
    sub: `system:serviceaccount:${namespace}:${name}`,
  }
  const answer = {
    kind: gvk.kind,
    apiVersion: "authentication.k8s.io/v1",
    metadata: { name, namespace, uid: account.uid, creationTimestamp: timestamp(around.clock) },
    spec: { audiences, expirationSeconds: seconds, boundObjectRef: spec?.boundObjectRef ?? null },
    status: { token: tokenOf(claims), expirationTimestamp: timestamp(around.clock, seconds) },
  }
  return { type: "written", status: 201, json: JSON.stringify(answer), warnings: [] }
}

const tokenKind: Resource = { gvk, plural: "tokenrequests", namespaced: true }
const shortest = 600
const longest = 2 ** 32

/** Seconds. */
const refuseLifetime = (seconds: number): void => {
  if (seconds >= shortest && seconds <= longest) return
  const field = "spec.expirationSeconds"
  const limit = seconds < shortest ? "less than 10 minutes" : "larger than 2^32 seconds"
  const detail = `may not specify a duration ${limit}`
  refuse(invalidObject(tokenKind, "", [{ type: "Invalid", field, value: seconds, detail }]))
}

const encoded = (value: object | string): string =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url")

const tokenOf = (claims: object): string =>
  [{ alg: "RS256", kid: "sandbox" }, claims, "not signed: this token opens nothing"].map(encoded).join(".")
