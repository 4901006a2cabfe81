/** Building {@link KubernetesType} values: what is not said about a type is what the server assumes. */

import type { KubernetesType } from "./kubernetes-type.ts"

/**
 * A type of a built-in kind. The server decodes those into Go values, so it refuses a wrong JSON type while decoding and
 * names the Go type in its answer; custom kinds have no Go types and are validated by their schema instead.
 */
export interface DecodedType extends KubernetesType {
  /** As Go's reflection prints it: `int32`, `v1.PodSpec`, `[]v1.Container`, `map[string]string`. */
  readonly goType: string
}

/** The Go type, or `undefined` for a type of a custom kind. */
export const goTypeOf = (type: KubernetesType): string | undefined => (type as Partial<DecodedType>).goType

const noFields: KubernetesType["fields"] = new Map()
const noNames: ReadonlyArray<string> = []
const noStrategies: KubernetesType["patchStrategies"] = new Set()

/** A type of which only `rest` is known. */
export const makeType = (kind: KubernetesType["kind"], rest: Partial<KubernetesType> = {}): KubernetesType => ({
  kind,
  fields: noFields,
  required: noNames,
  items: undefined,
  listType: "atomic",
  listMapKeys: noNames,
  keyDefaults: noFields,
  isAtomic: false,
  patchMergeKey: undefined,
  patchStrategies: noStrategies,
  keepsUnknown: false,
  isNullable: false,
  default: undefined,
  ...rest,
})

/** {@link makeType} for a built-in kind. Null is Go's zero value everywhere, hence nullable. */
export const makeDecodedType = (
  kind: KubernetesType["kind"],
  goType: string,
  rest: Partial<KubernetesType> = {},
): DecodedType => ({ ...makeType(kind, { isNullable: true, ...rest }), goType })

/** Whether `value` is a JSON object (not null, not an array). */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Reads an own property; inherited ones (`constructor`, `__proto__`) are no fields of a JSON object. */
export const ownValue = (record: Readonly<Record<string, unknown>>, key: string): unknown =>
  Object.hasOwn(record, key) ? record[key] : undefined

/** Writes an own property, also one called `__proto__`, which an assignment would take as the prototype. */
export const setOwnValue = (record: Record<string, unknown>, key: string, value: unknown): void => {
  if (key !== "__proto__") record[key] = value
  else Object.defineProperty(record, key, { value, writable: true, enumerable: true, configurable: true })
}
