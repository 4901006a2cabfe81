/** The frames of `proto/executor.proto`. What is decoded is a copy: a frame's memory is reused once it is acknowledged. */
import protobuf from "protobufjs/minimal.js"
import type { GuestRequest, GuestResponse } from "../guest/abi-values.ts"

/** One life of a module's instance. */
export interface ModuleLife {
  readonly module: string
  /** Rises when the instance is started anew; from 0 to 2^32−1. */
  readonly incarnation: number
}

export interface OperationKey extends ModuleLife {
  /** The module's own number of the operation, below 2^64. */
  readonly id: bigint
}

export type Operation = OperationKey & ({ readonly request: GuestRequest } | { readonly delayMs: bigint })

/** From a module worker to the executor. The executor takes the fields in this order. */
export interface Operations {
  readonly ended: ReadonlyArray<ModuleLife>
  readonly operations: ReadonlyArray<Operation>
  readonly outstanding: ReadonlyArray<OperationKey>
}

/** `response` is absent for a delay. */
export interface Completion extends OperationKey {
  readonly response?: GuestResponse
}

export const encodeOperations = ({ operations, ended, outstanding }: Operations): Uint8Array => {
  const writer = protobuf.Writer.create()
  for (const operation of operations) {
    writer.uint32(10).fork()
    writeKey(writer.uint32(10), operation)
    if ("request" in operation) writeRequest(writer.uint32(18), operation.request)
    else writer.uint32(25).fixed64(halvesOf(operation.delayMs))
    writer.ldelim()
  }
  for (const { module, incarnation } of ended) {
    writer.uint32(18).fork().uint32(10).string(module).uint32(16).uint32(incarnation).ldelim()
  }
  for (const key of outstanding) writeKey(writer.uint32(26), key)
  return writer.finish()
}

/** Throws RangeError on malformed bytes; both ends are ours, so that is a crash. */
export const decodeOperations = (bytes: Uint8Array): Operations => {
  const operations: Operation[] = []
  const ended: ModuleLife[] = []
  const outstanding: OperationKey[] = []
  readFields(protobuf.Reader.create(bytes), undefined, (reader, field) => {
    if (field === 10) operations.push(readOperation(reader))
    else if (field === 18) {
      const { module, incarnation } = readKey(reader)
      ended.push({ module, incarnation })
    } else if (field === 26) outstanding.push(readKey(reader))
    else return false
    return true
  })
  return { operations, ended, outstanding }
}

export const encodeCompletions = (completions: ReadonlyArray<Completion>): Uint8Array => {
  const writer = protobuf.Writer.create()
  for (const completion of completions) {
    writer.uint32(10).fork()
    writeKey(writer.uint32(10), completion)
    const { response } = completion
    if (response !== undefined) {
      writer.uint32(18).fork().uint32(8).uint32(response.status)
      writeHeaders(writer, 18, response.headers)
      writer.uint32(26).bytes(response.body).ldelim()
    }
    writer.ldelim()
  }
  return writer.finish()
}

/** Throws RangeError on malformed bytes. */
export const decodeCompletions = (bytes: Uint8Array): ReadonlyArray<Completion> => {
  const completions: Completion[] = []
  readFields(protobuf.Reader.create(bytes), undefined, (reader, field) => {
    if (field !== 10) return false
    let key = noKey
    let response: GuestResponse | undefined
    readFields(reader, reader.uint32(), (_, inner) => {
      if (inner === 10) key = readKey(reader)
      else if (inner === 18) response = readResponse(reader)
      else return false
      return true
    })
    completions.push(response === undefined ? key : { ...key, response })
    return true
  })
  return completions
}

const noKey: OperationKey = { module: "", incarnation: 0, id: 0n }
const nothing: Uint8Array = new Uint8Array(0)

/** The form in which protobufjs takes 64 bits without the package `long`. */
const halvesOf = (value: bigint): protobuf.Long => {
  const [low, high] = [Number(BigInt.asIntN(32, value)), Number(BigInt.asIntN(32, value >> 32n))]
  return { low, high, unsigned: true } as protobuf.Long
}

const readFixed64 = (reader: protobuf.Reader): bigint => {
  const low = reader.fixed32()
  return (BigInt(reader.fixed32()) << 32n) | BigInt(low)
}

const writeKey = (writer: protobuf.Writer, { module, incarnation, id }: OperationKey): void => {
  writer.fork().uint32(10).string(module).uint32(16).uint32(incarnation)
  writer.uint32(25).fixed64(halvesOf(id)).ldelim()
}

const writeRequest = (writer: protobuf.Writer, { method, uri, headers, body }: GuestRequest): void => {
  writer.fork().uint32(10).string(method).uint32(18).string(uri)
  writeHeaders(writer, 26, headers)
  writer.uint32(34).bytes(body).ldelim()
}

const writeHeaders = (writer: protobuf.Writer, field: number, headers: GuestRequest["headers"]): void => {
  for (const [name, values] of headers) {
    writer.uint32(field).fork().uint32(10).string(name)
    for (const value of values) writer.uint32(18).bytes(value)
    writer.ldelim()
  }
}

/** Reads the fields of a message of `length` bytes, or up to the end. `read` returns false for a field that it does not know. */
const readFields = (
  reader: protobuf.Reader,
  length: number | undefined,
  read: (reader: protobuf.Reader, field: number) => boolean,
): void => {
  const end = length === undefined ? reader.len : reader.pos + length
  while (reader.pos < end) {
    const field = reader.uint32()
    if (!read(reader, field)) reader.skipType(field & 7)
  }
}

const readKey = (reader: protobuf.Reader): OperationKey => {
  let { module, incarnation, id } = noKey
  readFields(reader, reader.uint32(), (_, field) => {
    if (field === 10) module = reader.string()
    else if (field === 16) incarnation = reader.uint32()
    else if (field === 25) id = readFixed64(reader)
    else return false
    return true
  })
  return { module, incarnation, id }
}

const readOperation = (reader: protobuf.Reader): Operation => {
  let key = noKey
  let request: GuestRequest | undefined
  let delayMs = 0n
  readFields(reader, reader.uint32(), (_, field) => {
    if (field === 10) key = readKey(reader)
    else if (field === 18) request = readRequest(reader)
    else if (field === 25) delayMs = readFixed64(reader)
    else return false
    return true
  })
  return request === undefined ? { ...key, delayMs } : { ...key, request }
}

const readRequest = (reader: protobuf.Reader): GuestRequest => {
  let method = ""
  let uri = ""
  const headers = new Map<string, ReadonlyArray<Uint8Array>>()
  let body = nothing
  readFields(reader, reader.uint32(), (_, field) => {
    if (field === 10) method = reader.string()
    else if (field === 18) uri = reader.string()
    else if (field === 26) readHeader(reader, headers)
    else if (field === 34) body = Uint8Array.from(reader.bytes())
    else return false
    return true
  })
  return { method, uri, headers, body }
}

const readResponse = (reader: protobuf.Reader): GuestResponse => {
  let status = 0
  const headers = new Map<string, ReadonlyArray<Uint8Array>>()
  let body = nothing
  readFields(reader, reader.uint32(), (_, field) => {
    if (field === 8) status = reader.uint32()
    else if (field === 18) readHeader(reader, headers)
    else if (field === 26) body = Uint8Array.from(reader.bytes())
    else return false
    return true
  })
  return { status, headers, body }
}

const readHeader = (reader: protobuf.Reader, headers: Map<string, ReadonlyArray<Uint8Array>>): void => {
  let name = ""
  const values: Uint8Array[] = []
  readFields(reader, reader.uint32(), (_, field) => {
    if (field === 10) name = reader.string()
    else if (field === 18) values.push(Uint8Array.from(reader.bytes()))
    else return false
    return true
  })
  headers.set(name, values)
}
