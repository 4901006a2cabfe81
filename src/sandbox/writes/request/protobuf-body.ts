/**
 * Bodies in `application/vnd.kubernetes.protobuf`, which typed Go clients and `kubectl create configmap` send: four
 * bytes of magic and a runtime.Unknown that names the kind and holds the object. They are converted to the object's
 * JSON, so that all other code handles JSON only. Responses stay JSON: clients that send protobuf accept both.
 */
import { fail } from "../../../apiserver/index.ts"
import { apiVersionOf, type GroupVersionKind } from "../../../kube/offline.ts"
import { decodeMessage } from "../../protobuf/decode-message.ts"
import { protobufDescriptors } from "../../protobuf/descriptors.ts"
import { eachField, ProtobufError } from "../../protobuf/special-values.ts"
import { refuse } from "../../store/refusal.ts"
import { notOfKind } from "./request-body.ts"
import { unsupportedMediaType } from "./write-failures.ts"
import type { WriteRequest } from "./write-request.ts"

export const protobufType = "application/vnd.kubernetes.protobuf"

/** `k8s` and a zero byte. */
const magic = Buffer.from([0x6b, 0x38, 0x73, 0x00])

/**
 * The request with a JSON body; requests with another body are returned as they are. Throws Refusal: 415 for custom
 * kinds, 400, 500.
 */
export const withJsonBody = (request: WriteRequest): WriteRequest => {
  const { contentType, verb, resource, body } = request
  if (contentType !== protobufType || verb === "patch") return request
  const isDeletion = verb === "delete" || verb === "deletecollection"
  // The options of a deletion have no kind of their own.
  if (resource.custom === true && request.subresource !== "scale" && !isDeletion) {
    return refuse(unsupportedMediaType(["application/json", "application/yaml"]))
  }
  if (isDeletion && body.length === 0) return { ...request, contentType: jsonType }
  const expected = expectedKind(request, isDeletion)
  const unreadable = (problem: string): never =>
    // Options are not the subject of a request, and the real server does not classify errors in them.
    refuse(isDeletion ? fail(500, problem) : notOfKind(expected, problem))
  const reading = <A>(read: () => A): A => {
    try {
      return read()
    } catch (error) {
      return unreadable(problemOf(error))
    }
  }
  if (body.length <= magic.length || !body.subarray(0, magic.length).equals(magic))
    return unreadable("a protobuf message must begin with k8s and a zero byte")
  const { apiVersion, kind, raw } = reading(() => unwrap(body.subarray(magic.length)))
  const given = { apiVersion: apiVersion || apiVersionOf(expected), kind: kind || expected.kind }
  const descriptors = protobufDescriptors()
  const message = isDeletion ? descriptors.deleteOptions : descriptors.kinds.get(`${given.apiVersion}.${given.kind}`)
  // An unknown kind: the response needs only its name.
  const fields = message === undefined ? {} : reading(() => decodeMessage(message, raw))
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
  /** Empty if the client sends none. */
  readonly apiVersion: string
  readonly kind: string
  readonly raw: Uint8Array
}

const unwrap = (unknown: Buffer): Envelope => {
  let apiVersion = ""
  let kind = ""
  let raw: Uint8Array = unknown.subarray(unknown.length)
  eachField(unknown, (reader, number, wireType) => {
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
  return { apiVersion, kind, raw }
}

/** The reader's own errors all mean that the bytes end too early. */
const problemOf = (error: unknown): string =>
  error instanceof ProtobufError ? error.message : "the bytes end too early"
