/** The host's half of the ABI's bincode: requests and watches are read, responses are written. */

export interface GuestRequest {
  readonly method: string
  readonly uri: string
  readonly headers: Readonly<Record<string, ReadonlyArray<string>>>
  readonly body: string
}

export interface WatchRequest {
  readonly apiVersion: string
  readonly group: string
  readonly kind: string
  readonly version: string
  readonly namespace: string | undefined
  readonly resourceVersion: string
  readonly fieldSelector: string | undefined
  readonly includeUninitialized: boolean
  readonly labelSelector: string | undefined
  readonly allowBookmarks: boolean
}

class Reader {
  readonly #bytes: Buffer
  #offset = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  length(): number {
    const length = Number(this.#bytes.readBigUInt64LE(this.#offset))
    this.#offset += 8
    return length
  }

  string(): string {
    const length = this.length()
    const end = this.#offset + length
    if (end > this.#bytes.length) throw new Error(`a string of ${length} bytes ends beyond the value`)
    const text = new TextDecoder("utf-8", { fatal: true }).decode(this.#bytes.subarray(this.#offset, end))
    this.#offset = end
    return text
  }

  flag(): boolean {
    const byte = this.#bytes.readUInt8(this.#offset++)
    if (byte > 1) throw new Error(`${byte} is no boolean`)
    return byte === 1
  }

  optional(): string | undefined {
    return this.flag() ? this.string() : undefined
  }

  end(): void {
    if (this.#offset !== this.#bytes.length) throw new Error(`${this.#bytes.length - this.#offset} bytes are left over`)
  }
}

export const readRequest = (bytes: Buffer): GuestRequest => {
  const reader = new Reader(bytes)
  const [method, uri] = [reader.string(), reader.string()]
  const headers: Record<string, string[]> = {}
  for (let count = reader.length(); count > 0; count--)
    headers[reader.string()] = Array.from({ length: reader.length() }, () => reader.string())
  const request = { method, uri, headers, body: reader.string() }
  reader.end()
  return request
}

export const readWatch = (bytes: Buffer): WatchRequest => {
  const reader = new Reader(bytes)
  const watch = {
    apiVersion: reader.string(),
    group: reader.string(),
    kind: reader.string(),
    version: reader.string(),
    namespace: reader.optional(),
    resourceVersion: reader.string(),
    fieldSelector: reader.optional(),
    includeUninitialized: reader.flag(),
    labelSelector: reader.optional(),
    allowBookmarks: reader.flag(),
  }
  reader.end()
  return watch
}

export const writeResponse = (
  status: number,
  headers: Readonly<Record<string, ReadonlyArray<string>>>,
  body: string,
): Buffer => {
  const parts: Buffer[] = [Buffer.from([status & 0xff, status >>> 8])]
  const length = (value: number): void => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigUInt64LE(BigInt(value))
    parts.push(bytes)
  }
  const string = (text: string): void => {
    const bytes = Buffer.from(text)
    length(bytes.length)
    parts.push(bytes)
  }
  length(Object.keys(headers).length)
  for (const [name, values] of Object.entries(headers)) {
    string(name)
    length(values.length)
    for (const value of values) string(value)
  }
  string(body)
  return Buffer.concat(parts)
}

/** A watch event as the API server writes it. */
export const eventOf = (type: string, object: object): Buffer => Buffer.from(JSON.stringify({ type, object }))
