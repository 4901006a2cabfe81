/**
 * A value in an update together with the one that it replaces: fields by name, items of keyed lists by their keys; items of other lists
 * have no counterpart. Problems of values that an update leaves as they are do not prevent it.
 */

import type { StructuralSchema } from "../../../apiserver/index.ts"
import { isRecord } from "../../../is-record.ts"
import { memberOf } from "../../../own-member.ts"

export class Correlation {
  readonly #value: unknown
  /** The value that is replaced. */
  readonly old: unknown
  readonly #schema: StructuralSchema
  readonly #children = new Map<string | number, Correlation | undefined>()
  #oldItems: ReadonlyMap<string, unknown> | undefined
  #isUnchanged: boolean | undefined

  constructor(value: unknown, old: unknown, schema: StructuralSchema) {
    this.#value = value
    this.old = old
    this.#schema = schema
  }

  /** `undefined` if either side lacks the field, or its schema is not known. */
  field(name: string): Correlation | undefined {
    return this.#child(name, () => {
      if (!isRecord(this.#value) || !isRecord(this.old)) return undefined
      const { properties = {}, additionalProperties } = this.#schema
      const property = memberOf<StructuralSchema>(properties, name)
      const schema = property ?? (isRecord(additionalProperties) ? additionalProperties : undefined)
      const [value, old] = [memberOf(this.#value, name), memberOf(this.old, name)]
      return schema === undefined || value === undefined || old === undefined
        ? undefined
        : new Correlation(value, old, schema)
    })
  }

  /** `undefined` if no old item has the same keys. */
  item(index: number): Correlation | undefined {
    return this.#child(index, () => {
      const { items } = this.#schema
      if (!Array.isArray(this.#value) || !Array.isArray(this.old) || items === undefined) return undefined
      this.#oldItems ??= keyedItems(this.old, this.#schema)
      const old = this.#oldItems?.get(itemKey(this.#value[index], this.#schema))
      return old === undefined ? undefined : new Correlation(this.#value[index], old, items)
    })
  }

  /** Whether both are equal; the order of keyed lists does not matter. */
  get isUnchanged(): boolean {
    this.#isUnchanged ??= this.#compare()
    return this.#isUnchanged
  }

  #child(step: string | number, make: () => Correlation | undefined): Correlation | undefined {
    if (!this.#children.has(step)) this.#children.set(step, make())
    return this.#children.get(step)
  }

  #compare(): boolean {
    const [value, old] = [this.#value, this.old]
    if (Array.isArray(value) && Array.isArray(old)) {
      if (!isKeyed(this.#schema)) return canonicalJson(value) === canonicalJson(old)
      return value.length === old.length && value.every((_, index) => this.item(index)?.isUnchanged === true)
    }
    if (isRecord(value) && isRecord(old)) {
      const names = Object.keys(value)
      const isSameSize = names.length === Object.keys(old).length
      return isSameSize && names.every((name) => this.field(name)?.isUnchanged === true)
    }
    return canonicalJson(value) === canonicalJson(old)
  }
}

export const isKeyed = (schema: StructuralSchema): boolean => schema["x-kubernetes-list-type"] === "map"

const itemKey = (item: unknown, schema: StructuralSchema): string =>
  canonicalJson(
    (schema["x-kubernetes-list-map-keys"] ?? []).map((key) => (isRecord(item) ? memberOf(item, key) : null)),
  )

/** The items of a keyed list by their keys; `undefined` for other lists. */
const keyedItems = (
  items: ReadonlyArray<unknown>,
  schema: StructuralSchema,
): ReadonlyMap<string, unknown> | undefined =>
  isKeyed(schema) ? new Map(items.map((item) => [itemKey(item, schema), item])) : undefined

/** JSON with the members of objects sorted: equal values have equal texts. Values deeper than 1,000 levels become `null`. */
export const canonicalJson = (value: unknown, depth = 0): string => {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null"
  if (depth > 1000) return "null"
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, depth + 1)).join(",")}]`
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item, depth + 1)}`).join(",")}}`
}
