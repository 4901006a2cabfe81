/**
 * What module workers and the executor tell each other, in V8's form for plain data: both ends are threads of one process. What is decoded is a
 * copy: a frame's memory is reused once it is acknowledged.
 */
import { deserialize, serialize } from "node:v8"
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

export const encodeOperations = (operations: Operations): Uint8Array => serialize(operations)
export const decodeOperations = (bytes: Uint8Array): Operations => deserialize(Buffer.from(bytes))
export const encodeCompletions = (completions: ReadonlyArray<Completion>): Uint8Array => serialize(completions)
export const decodeCompletions = (bytes: Uint8Array): ReadonlyArray<Completion> => deserialize(Buffer.from(bytes))
