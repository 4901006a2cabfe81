/** The guests' half of the structures that they exchange with the host. */
import {
  type GuestRequest,
  type GuestResponse,
  headersOf,
  type WatchRequest,
  writeHeaders,
} from "../../../src/host/guest/abi-values.ts"
import { BincodeReader, BincodeWriter } from "../../../src/host/guest/bincode.ts"

export const encodeWatchRequest = (request: WatchRequest): Uint8Array => {
  const writer = new BincodeWriter()
  writer.string(request.apiVersion)
  writer.string(request.group)
  writer.string(request.kind)
  writer.string(request.version)
  writer.optionalString(request.namespace)
  writer.string(request.resourceVersion)
  writer.optionalString(request.fieldSelector)
  writer.boolean(request.includeUninitialized)
  writer.optionalString(request.labelSelector)
  writer.boolean(request.allowBookmarks)
  return writer.finish()
}

export const encodeGuestRequest = (request: GuestRequest): Uint8Array => {
  const writer = new BincodeWriter(256 + request.body.length)
  writer.string(request.method)
  writer.string(request.uri)
  writeHeaders(writer, request.headers)
  writer.bytes(request.body)
  return writer.finish()
}

/** @throws {BincodeError} if the bytes are anything else. */
export const decodeGuestResponse = (bytes: Uint8Array): GuestResponse => {
  const reader = new BincodeReader("HttpResponse", bytes)
  const response = { status: reader.u16(), headers: headersOf(reader), body: reader.bytes() }
  reader.end()
  return response
}
