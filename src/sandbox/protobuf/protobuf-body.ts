/**
 * Bodies in `application/vnd.kubernetes.protobuf`, which typed Go clients and `kubectl create configmap` send: four bytes
 * of magic and a runtime.Unknown that names the kind and holds the object. They become the JSON that the same object
 * would have come as, so that everything behind knows JSON only. Answers stay JSON: whoever sends protobuf takes both.
 *
 * What is wrong with a body is answered in the words of Kubernetes 1.34.4.
 */

import { badRequest, type Failure, fail } from "../../apiserver/answers/failure.ts"
import { apiVersionOf, type GroupVersionKind } from "../../kube/gvk.ts"
import { refuse } from "../writes/refusal.ts"
import { unsupportedMediaType } from "../writes/write-failures.ts"
import type { WriteRequest } from "../writes/write-request.ts"
import { decodeMessage } from "./decode-message.ts"
import { protobufDescriptors } from "./descriptors.ts"
import { eachField } from "./special-values.ts"

export const protobufType = "application/vnd.kubernetes.protobuf"

/** `k8s` and a zero byte. */
const magic = Buffer.from([0x6b, 0x38, 0x73, 0x00])

/** The request with a JSON body; requests with another body as they are. Throws Refusal: 415 for custom kinds, 400, 500. */
export const withJsonBody = (request: WriteRequest): WriteRequest => {
  const { contentType, verb, resource, body } = request
  if (contentType !== protobufType || verb === "patch") return request
  const isDeletion = verb === "delete" || verb === "deletecollection"
  // Options of a deletion are of no kind of their own.
  if (resource.custom === true && request.subresource !== "scale" && !isDeletion) {
    return refuse(unsupportedMediaType(["application/json", "application/yaml"]))
  }
  if (isDeletion && body.length === 0) return { ...request, contentType: jsonType }
  const expected = expectedKind(request, isDeletion)
  const refuseBody = (problem: string): never => refuse(unreadable(problem, body, expected, isDeletion))
  const { apiVersion, kind, raw } = unwrap(body, refuseBody)
  const given = { apiVersion: apiVersion || apiVersionOf(expected), kind: kind || expected.kind }
  const descriptors = protobufDescriptors()
  const message = isDeletion ? descriptors.deleteOptions : descriptors.kinds.get(`${given.apiVersion}.${given.kind}`)
  // A kind that nobody knows: its name is all that the answer needs.
  const fields = message === undefined ? {} : decoded(message, raw, (problem) => refuseObject(problem, given, expected))
  const json = JSON.stringify({ kind: given.kind, apiVersion: given.apiVersion, ...fields })
  return { ...request, contentType: jsonType, body: Buffer.from(json) }
}

const jsonType = "application/json"

const expectedKind = ({ resource, subresource }: WriteRequest, isDeletion: boolean): GroupVersionKind => {
  if (isDeletion) return { group: "", version: "v1", kind: "DeleteOptions" }
  return ofSubresources[subresource] ?? resource.gvk
}

const ofSubresources: Readonly<Record<string, GroupVersionKind>> = {
  binding: { group: "", version: "v1", kind: "Binding" },
  eviction: { group: "policy", version: "v1", kind: "Eviction" },
  scale: { group: "autoscaling", version: "v1", kind: "Scale" },
  token: { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" },
}

interface Envelope {
  /** Empty if the client names none. */
  readonly apiVersion: string
  readonly kind: string
  readonly raw: Uint8Array
}

const unwrap = (body: Buffer, refuseBody: (problem: string) => never): Envelope => {
  if (body.length === 0) return refuseBody("empty data")
  if (!body.subarray(0, magic.length).equals(magic)) {
    return refuseBody("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
  }
  if (body.length === magic.length) return refuseBody("empty body")
  let apiVersion = ""
  let kind = ""
  let raw: Uint8Array = body.subarray(body.length)
  try {
    eachField(body.subarray(magic.length), (reader, number, wireType) => {
      if (wireType !== 2 || number > 2) return false
      if (number === 2) raw = reader.bytes()
      else {
        eachField(reader.bytes(), (inner, member) => {
          if (member === 1) apiVersion = inner.string()
          else if (member === 2) kind = inner.string()
          return member === 1 || member === 2
        })
      }
      return true
    })
  } catch (error) {
    return refuseBody(problemOf(error))
  }
  return { apiVersion, kind, raw }
}

const decoded = (message: string, raw: Uint8Array, refuseRaw: (problem: string) => never): object => {
  try {
    return decodeMessage(message, raw)
  } catch (error) {
    return refuseRaw(problemOf(error))
  }
}

/** The reader's own errors all mean that the bytes end where they should not. */
const problemOf = (error: unknown): string =>
  error instanceof Error && "_tag" in error ? error.message : "unexpected EOF"

const refuseObject = (
  problem: string,
  given: { readonly apiVersion: string; readonly kind: string },
  expected: GroupVersionKind,
): never => {
  const version = given.apiVersion.slice(given.apiVersion.indexOf("/") + 1)
  return refuse(badRequest(`${given.kind} in version "${version}" cannot be handled as a ${expected.kind}: ${problem}`))
}

const unreadable = (problem: string, body: Buffer, expected: GroupVersionKind, isDeletion: boolean): Failure => {
  // Options are not what a request is about, so nobody has classified what may be wrong with them.
  if (isDeletion) return fail(500, problem)
  const shown = body.subarray(0, 30)
  const text = shown[0] === 0x7b ? shown.toString("utf8") : shown.toString("hex")
  const summary = body.length === 0 ? "<empty>" : `${text}${body.length > 30 ? " ..." : ""}`
  return fail(400, `the object provided is unrecognized (must be of type ${expected.kind}): ${problem} (${summary})`, {
    reason: "BadRequest",
  })
}
