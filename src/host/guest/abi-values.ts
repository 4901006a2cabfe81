/** The structures that guests of ABI `rust_v1alpha1` and the host exchange, and their bincode. */
import { BincodeReader, BincodeWriter } from "./bincode.ts"

/** Which objects a guest wants to watch, from where on. Empty strings and absent values are as the guest wrote them. */
export interface WatchRequest {
  /** `GROUP/VERSION`, or `VERSION` for the core group. */
  readonly apiVersion: string
  readonly group: string
  readonly kind: string
  readonly version: string
  /** Absent: all namespaces, or a kind without namespaces. */
  readonly namespace?: string
  /** The version after which events are wanted; `0` or empty: the current state first. */
  readonly resourceVersion: string
  readonly fieldSelector?: string
  readonly includeUninitialized: boolean
  readonly labelSelector?: string
  readonly allowBookmarks: boolean
}

/** Names with all values of each, in order. */
type GuestHeaders = ReadonlyMap<string, ReadonlyArray<Uint8Array>>

/** An HTTP request to the API server. Nothing about it is validated but its form: it is what a guest wrote. */
export interface GuestRequest {
  readonly method: string
  /** Path and query of the API server; may end in `?`. */
  readonly uri: string
  readonly headers: GuestHeaders
  readonly body: Uint8Array
}

/** The response to a {@link GuestRequest}. */
export interface GuestResponse {
  /** 0 to 65,535. */
  readonly status: number
  /** Names in lower case, as Rust's header maps want them. */
  readonly headers: GuestHeaders
  readonly body: Uint8Array
}

/**
 * Header values of one structure. Each costs the host an object of some 100 bytes and the guest 8, so without a limit 64 MB of a guest
 * would become 800 MB of the host. Node's HTTP parser allows 2,000 fields too.
 */
export const maximumHeaderValues = 2000

/** @throws {BincodeError} if the bytes are anything else. */
export const decodeWatchRequest = (bytes: Uint8Array): WatchRequest => {
  const reader = new BincodeReader("WatchRequest", bytes)
  const apiVersion = reader.string()
  const group = reader.string()
  const kind = reader.string()
  const version = reader.string()
  const namespace = reader.optionalString()
  const resourceVersion = reader.string()
  const fieldSelector = reader.optionalString()
  const includeUninitialized = reader.boolean()
  const labelSelector = reader.optionalString()
  const allowBookmarks = reader.boolean()
  reader.end()
  return {
    apiVersion,
    group,
    kind,
    version,
    ...(namespace !== undefined && { namespace }),
    resourceVersion,
    ...(fieldSelector !== undefined && { fieldSelector }),
    includeUninitialized,
    ...(labelSelector !== undefined && { labelSelector }),
    allowBookmarks,
  }
}

/** @throws {BincodeError} if the bytes are anything else. */
export const decodeGuestRequest = (bytes: Uint8Array): GuestRequest => {
  const reader = new BincodeReader("HttpRequest", bytes)
  const request = { method: reader.string(), uri: reader.string(), headers: headersOf(reader), body: reader.bytes() }
  reader.end()
  return request
}

/** @param response its status must be an integer from 0 to 65,535: the field has 16 bits. */
export const encodeGuestResponse = (response: GuestResponse): Uint8Array => {
  const writer = new BincodeWriter(512 + response.body.length)
  writer.u16(response.status)
  writeHeaders(writer, response.headers)
  writer.bytes(response.body)
  return writer.finish()
}

/** The values of a name that occurs twice are joined, as HTTP does it. */
export const headersOf = (reader: BincodeReader): Map<string, Uint8Array[]> => {
  const headers = new Map<string, Uint8Array[]>()
  let total = 0
  const names = reader.count(16)
  if (names > maximumHeaderValues) throw reader.tooMany(`${names} headers, of ${maximumHeaderValues} at most`)
  for (let index = 0; index < names; index++) {
    const name = reader.string()
    const values = headers.get(name) ?? []
    headers.set(name, values)
    const count = reader.count(8)
    total += count
    if (total > maximumHeaderValues) throw reader.tooMany(`more than ${maximumHeaderValues} header values`)
    for (let value = 0; value < count; value++) values.push(reader.bytes())
  }
  return headers
}

export const writeHeaders = (writer: BincodeWriter, headers: GuestHeaders): void => {
  writer.count(headers.size)
  for (const [name, values] of headers) {
    writer.string(name)
    writer.count(values.length)
    for (const value of values) writer.bytes(value)
  }
}
