/** The meaning of a Status for a list or watch, and the missing RBAC rule if it is a missing permission. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { type ApiStatus, readStatus } from "../../../../src/kube/status.ts"
import { mergedHints, permissionHint } from "../../../../src/kube/watch/protocol/permission-hint.ts"
import { classify } from "../../../../src/kube/watch/protocol/transition.ts"

/** As API servers write them; the texts are those of Kubernetes 1.34 unless another version is named. */
const statuses: ReadonlyArray<readonly [expected: ReturnType<typeof classify>, status: object]> = [
  ["expired", { code: 410, reason: "Expired", message: "too old resource version: 5 (1000)" }],
  ["expired", { code: 410, reason: "Gone" }],
  ["expired", { reason: "Expired", message: "The provided continue parameter is too old" }],
  ["expired", { code: 400, reason: "BadRequest", message: "invalid continue token: continue key is not valid" }],
  ["too-large", { code: 504, reason: "Timeout", message: "Too large resource version: 999, current: 5" }],
  ["too-large", { code: 504, details: { causes: [{ reason: "ResourceVersionTooLarge", message: "" }] } }],
  [
    "no-streaming-list",
    { code: 422, message: "x", details: { causes: [{ reason: "FieldValueForbidden", field: "sendInitialEvents" }] } },
  ],
  ["no-streaming-list", { code: 422, message: 'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden' }],
  ["no-streaming-list", { code: 400, message: "unknown parameter sendInitialEvents" }],
  ["unauthorized", { code: 401, reason: "Unauthorized" }],
  ["forbidden", { code: 403, reason: "Forbidden", message: "pods is forbidden" }],
  ["not-found", { code: 404, reason: "NotFound" }],
  ["transient", { code: 429, reason: "TooManyRequests" }],
  ["transient", { code: 500, reason: "InternalError" }],
  ["transient", { code: 503, reason: "ServiceUnavailable" }],
  ["transient", { code: 504, reason: "Timeout", message: "etcdserver: request timed out" }],
  ["transient", { code: 422, message: "labelSelector: Invalid value" }],
]

const read = (status: object): ApiStatus => {
  const read = readStatus(JSON.stringify({ kind: "Status", ...status }))
  if (read === undefined) throw new Error("not a Status")
  return read
}

test.each(statuses)("is %s: %j", (expected, status) => {
  expect(classify(read(status))).toBe(expected)
})

describe("a missing permission", () => {
  test.each([
    [
      "/api/v1/pods",
      'a ClusterRole of this user: {apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch"]}',
    ],
    ["/apis/apps/v1/deployments", 'a ClusterRole of this user: {apiGroups: ["apps"], resources: ["deployments"],'],
    [
      "/apis/apps/v1/namespaces/shop/deployments",
      'a Role of this user in shop: {apiGroups: ["apps"], resources: ["deployments"],',
    ],
    ["/api/v1/namespaces", 'a ClusterRole of this user: {apiGroups: [""], resources: ["namespaces"],'],
    ["/api/v1/namespaces/shop/pods", 'a Role of this user in shop: {apiGroups: [""], resources: ["pods"],'],
    ["", "bind the user to the ClusterRole system:discovery"],
    ["/version", "bind the user to the ClusterRole system:discovery"],
  ])("for %s is named as a rule to paste", (path, expected) => {
    expect(permissionHint(path)).toContain(expected)
  })
})

describe("missing permissions of several kinds", () => {
  test("are one rule for each group and role", () => {
    const hints = [
      "/api/v1/pods",
      "/api/v1/namespaces/shop/pods",
      "/api/v1/nodes",
      "/api/v1/pods",
      "/apis/apps/v1/deployments",
      "",
    ]
    expect(
      mergedHints(
        hints.map((path) => `HTTP 403: a sentence, {with: [braces]}; ${permissionHint(path)}; 1 of 2 is watched`),
      ),
    ).toBe(
      "bind the user to the ClusterRole system:discovery; " +
        'add to a ClusterRole of this user: {apiGroups: [""], resources: ["pods", "nodes"], verbs: ["get", "list", "watch"]}, ' +
        '{apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "list", "watch"]}; ' +
        'add to a Role of this user in shop: {apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch"]}',
    )
  })

  test("that are one are the hint itself, whatever the path, and none are nothing", () => {
    const word = fc.stringMatching(/^[a-z][a-z0-9.-]{0,20}$/)
    fc.assert(
      fc.property(
        fc.option(word),
        fc.option(word),
        word,
        fc.uniqueArray(word, { minLength: 1, maxLength: 3 }),
        (group, namespace, resource, verbs) => {
          const start = group === null ? "/api/v1" : `/apis/${group}/v1`
          const path = `${start}${namespace === null ? "" : `/namespaces/${namespace}`}/${resource}`
          const text = permissionHint(path, verbs)
          expect(mergedHints([`refused; ${text}`, text])).toBe(text)
        },
      ),
    )
    expect(mergedHints(["HTTP 403"])).toBeUndefined()
  })
})
