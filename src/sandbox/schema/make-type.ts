/** Builds {@link KubernetesType} values, with the server's assumptions for what is not specified. */

import type { KubernetesType } from "./kubernetes-type.ts"

/**
 * A type of a built-in kind. The server decodes those into structs, so it refuses a wrong JSON type while decoding; custom
 * kinds are validated by their schema instead.
 */
export interface DecodedType extends KubernetesType {
  /** The end of the schema's name, `v1.PodSpec` or `v1.Time`; of scalars `string`, `byte`, `int32`, `int64`…; of lists and maps the kind. */
  readonly schemaName: string
}

/** The name of a built-in kind's schema, or `undefined` for a type of a custom kind. */
export const schemaNameOf = (type: KubernetesType): string | undefined => (type as Partial<DecodedType>).schemaName

const noFields: KubernetesType["fields"] = new Map()
const noNames: ReadonlyArray<string> = []
const noStrategies: KubernetesType["patchStrategies"] = new Set()

/** A type with the members in `rest`, and defaults for all others. */
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

/** {@link makeType} for a built-in kind. Null is the zero value of every type, so all are nullable. */
export const makeDecodedType = (
  kind: KubernetesType["kind"],
  schemaName: string,
  rest: Partial<KubernetesType> = {},
): DecodedType => ({ ...makeType(kind, { isNullable: true, ...rest }), schemaName })
