/** Requests with a protobuf body, and such bodies made by hand. */

import protobuf from "protobufjs/minimal.js"
import { builtinResources } from "../../../src/apiserver/index.ts"
import { protobufType } from "../../../src/sandbox/writes/request/protobuf-body.ts"
import type { WriteRequest } from "../../../src/sandbox/writes/request/write-request.ts"

/** The creation of a ConfigMap, without its body. */
export const protobufCreation = (body: Buffer): WriteRequest => {
  const resource = builtinResources.find(({ plural }) => plural === "configmaps")
  if (resource === undefined) throw new Error("no ConfigMaps")
  const place = { namespace: "default", name: "", subresource: "", query: new URLSearchParams() }
  return { verb: "create", resource, ...place, contentType: protobufType, userAgent: "", body }
}

/** A field with a length: number and bytes or text. */
export const field = (number: number, content: Uint8Array | string): Buffer =>
  Buffer.from(
    protobuf.Writer.create()
      .uint32((number << 3) | 2)
      .bytes(Buffer.from(content))
      .finish(),
  )

/** `k8s`, a zero byte and a runtime.Unknown. */
export const envelope = (apiVersion: string, kind: string, raw: Uint8Array): Buffer => {
  const typeMeta = Buffer.concat([field(1, apiVersion), field(2, kind)])
  return Buffer.concat([Buffer.from([0x6b, 0x38, 0x73, 0x00]), field(1, typeMeta), field(2, raw)])
}

/** A ConfigMap with a name, and with one pair of data if given. */
export const configMap = (name: string, key?: string, value = ""): Buffer => {
  const data = key === undefined ? Buffer.alloc(0) : field(2, Buffer.concat([field(1, key), field(2, value)]))
  return envelope("v1", "ConfigMap", Buffer.concat([field(1, field(1, name)), data]))
}
