/**
 * The type of a Kubernetes field, with enough facts to check, default, merge, apply and prune values.
 *
 * The same shape for built-in kinds (from the API server's OpenAPI v3 document) and for custom ones (from the
 * structural schema of their CustomResourceDefinition). Types may be recursive (JSONSchemaProps), so they are graphs.
 */

import type { ListType } from "../../apiserver/index.ts"

export interface KubernetesType {
  /** `object` has named fields, `map` any string keys with values of one type, `any` accepts every JSON value as it is. */
  readonly kind: "object" | "map" | "list" | "string" | "integer" | "number" | "boolean" | "int-or-string" | "any"
  /** Fields of an `object`, by name. Empty for all others. */
  readonly fields: ReadonlyMap<string, KubernetesType>
  /** Names of fields an `object` must have. */
  readonly required: ReadonlyArray<string>
  /** The type of list items or map values. */
  readonly items: KubernetesType | undefined
  /** `x-kubernetes-list-type`; `atomic` by default. */
  readonly listType: ListType
  /** `x-kubernetes-list-map-keys`, in order; empty unless `listType` is `map`. */
  readonly listMapKeys: ReadonlyArray<string>
  /** Defaults of the list map keys' fields, for items that omit one (`protocol: TCP` of a container's port). */
  readonly keyDefaults: ReadonlyMap<string, unknown>
  /** An object or map that server-side apply owns as a whole (`x-kubernetes-map-type: atomic`). */
  readonly isAtomic: boolean
  /** `x-kubernetes-patch-merge-key`: strategic merge patch matches list items by this field. */
  readonly patchMergeKey: string | undefined
  /** `x-kubernetes-patch-strategy`, split at commas. */
  readonly patchStrategies: ReadonlySet<"merge" | "replace" | "retainKeys">
  /** Unknown fields of an `object` are kept (RawExtension, `x-kubernetes-preserve-unknown-fields`). */
  readonly keepsUnknown: boolean
  readonly isNullable: boolean
  /** The value that the server fills in if the field is absent; `undefined` for none. Readers must not change it. */
  readonly default: unknown
  /** Of a built-in kind; see {@link DecodedType}. */
  readonly schemaName?: string
}

/**
 * A type of a built-in kind. The server decodes those into structs, so it refuses a wrong JSON type while decoding; custom
 * kinds are validated by their schema instead.
 */
export interface DecodedType extends KubernetesType {
  /** The end of the schema's name, `v1.PodSpec` or `v1.Time`; of scalars `string`, `byte`, `int32`, `int64`…; of lists and maps the kind. */
  readonly schemaName: string
}

/** The name of a built-in kind's schema, or `undefined` for a type of a custom kind. */
export const schemaNameOf = ({ schemaName }: KubernetesType): string | undefined => schemaName

const noFields: KubernetesType["fields"] = new Map()
const noNames: ReadonlyArray<string> = []
const noStrategies: KubernetesType["patchStrategies"] = new Set()

/** A type with the members in `rest`, and the server's assumptions for all others. */
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
