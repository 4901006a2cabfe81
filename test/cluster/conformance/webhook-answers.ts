/** How the webhooks of the request scripts (test/cluster/conformance/scripts/admission-webhooks.ts) answer, by their path; the same to the same request. */

import { patching, type ReviewAnswer, type ReviewRequest } from "../../sandbox/writes/webhooks/webhook-server.ts"

const add = (path: string, value: unknown): object => ({ op: "add", path, value })
const allowed: ReviewAnswer = { allowed: true }

const denied = (status?: object): ReviewAnswer => ({ allowed: false, ...(status !== undefined && { status }) })

const denials: Readonly<Record<string, ReviewAnswer>> = {
  plain: denied(),
  message: denied({ message: "because" }),
  reason: denied({ reason: "Gone" }),
  "403": denied({ code: 403, reason: "Forbidden", message: "forbidden" }),
  "409": denied({ code: 409, reason: "Conflict" }),
  "422": denied({ code: 422, message: "unprocessable" }),
  "500": denied({ code: 500, message: "internal" }),
  "200": denied({ code: 200, status: "Success", message: "fine" }),
  details: denied({ message: "detailed", details: { name: "n", kind: "k", causes: [{ field: "f", message: "m" }] } }),
}

/** Written into the data in the order of the calls. */
const inOrder = (name: string, { object }: ReviewRequest): ReviewAnswer => {
  const data = object?.data
  if (object === null) return allowed
  const order = `${data?.order ?? ""}${name} `
  return patching(...(data === undefined ? [add("/data", {})] : []), add("/data/order", order))
}

const answers: Readonly<Record<string, (request: ReviewRequest) => ReviewAnswer>> = {
  "/order-again": (request) => inOrder("again", request),
  "/order-once": (request) => inOrder("once", request),
  "/order-last": (request) => inOrder("last", request),
  "/label": ({ object, oldObject, operation, options, name = "", dryRun }) => {
    if (object === null) return allowed
    const seen = [
      operation,
      name || "unnamed",
      String(options.kind),
      dryRun ? "dry" : "real",
      oldObject ? "old" : "new",
    ]
    return patching(
      ...(object.metadata.labels === undefined ? [add("/metadata/labels", {})] : []),
      add("/metadata/labels/seen", seen.join(".")),
    )
  },
  "/finder": () => patching(add("/data", { found: "yes" })),
  "/pod": ({ object, subResource }) => {
    if (subResource === "status")
      return patching(add("/status/reason", "Webhook"), add("/metadata/labels", { lost: "yes" }))
    return object?.metadata.name === "spoiled"
      ? patching(add("/spec/restartPolicy", "Sometimes"))
      : patching(add("/spec/containers/-", { name: "added", image: "y" }), { op: "remove", path: "/spec/tolerations" })
  },
  "/scale": () => patching(add("/spec/replicas", 2)),
  "/autoscaler": ({ resource }) =>
    patching(
      add("/spec/metrics/0/resource/target/averageUtilization", 70),
      add("/metadata/labels", { shown: resource.version }),
    ),
  "/deny": ({ operation, object, oldObject }) => {
    if (operation === "DELETE")
      return oldObject?.metadata.labels?.keep === "yes" ? denied({ message: "kept" }) : allowed
    return denials[object?.data?.deny ?? ""] ?? allowed
  },
  "/warn": ({ object }) => {
    const warning = object?.data?.warn
    return { allowed: true, ...(warning !== undefined && { warnings: [warning, 'with "quotes"'] }) }
  },
  "/deny-scale": () => denied({ message: "no", code: 403, reason: "Forbidden" }),
  "/wrong-uid": () => ({ allowed: true, uid: "another" }),
  "/no-response": () => JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" }),
  "/no-json": () => "nonsense",
  "/patch-without-type": () => ({ allowed: true, patch: Buffer.from("[]").toString("base64") }),
  "/unknown-patch-type": () => ({ ...(patching(add("/data/x", "y")) as object), patchType: "Merge" }),
  "/other-version": ({ uid }) =>
    JSON.stringify({
      apiVersion: "admission.k8s.io/v1beta1",
      kind: "AdmissionReview",
      response: { uid, allowed: true },
    }),
  "/broken-patch": () => ({ allowed: true, patchType: "JSONPatch", patch: Buffer.from("{").toString("base64") }),
  "/misfit-patch": () => patching(add("/nowhere/x", "y")),
  "/hang": () => undefined,
}

/** 404 for a path without a webhook. */
export const webhookAnswer = (path: string, request: ReviewRequest): ReviewAnswer => {
  const answer = answers[path]
  return answer === undefined ? 404 : answer(request)
}
