/** One overload of a function: what it takes, what it returns, what it costs. */

import type { Meter } from "./meter.ts"
import { type CelType, parseSignature, type Signature } from "./types.ts"
import { Duration, List, Mapping, Opaque, Optional, Timestamp, TypeName, Uint, type Value } from "./values.ts"

export interface Overload extends Signature {
  /** Throws EvaluationError, CostLimitError. */
  readonly run: (args: ReadonlyArray<Value>, meter: Meter) => Value
  /** In the API server's units, of which most functions cost one. */
  readonly cost: (args: ReadonlyArray<Value>, result: Value) => number
}

const one = (): number => 1

/**
 * The parameters of `run` have the types of the signature: nothing else gets there. TypeScript cannot see that, so the table's own
 * signatures are trusted here.
 */
export const overload = <Args extends ReadonlyArray<Value>>(
  signature: string,
  run: (args: Args, meter: Meter) => Value,
  cost: (args: Args, result: Value) => number = one,
): Overload => ({ ...parseSignature(signature), run: run as Overload["run"], cost: cost as Overload["cost"] })

/** Whether values have the types of the parameters, as far as they can be told apart without looking into lists and maps. */
export const accepts = ({ parameters }: Signature, args: ReadonlyArray<Value>): boolean =>
  parameters.length === args.length && parameters.every((type, index) => isOfType(args[index] ?? null, type))

const isOfType = (value: Value, type: CelType): boolean => {
  switch (type.kind) {
    case "dyn":
    case "parameter":
    case "object":
      return true
    case "null_type":
      return value === null
    case "bool":
      return typeof value === "boolean"
    case "int":
      return typeof value === "bigint"
    case "double":
      return typeof value === "number"
    case "string":
      return typeof value === "string"
    case "bytes":
      return value instanceof Uint8Array
    case "uint":
      return value instanceof Uint
    case "timestamp":
      return value instanceof Timestamp
    case "duration":
      return value instanceof Duration
    case "type":
      return value instanceof TypeName
    case "list":
      return value instanceof List
    case "map":
      return value instanceof Mapping
    case "optional":
      return value instanceof Optional
    case "opaque":
      return value instanceof Opaque && value.type === type.name
  }
}
