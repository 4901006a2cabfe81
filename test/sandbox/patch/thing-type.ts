/** The type of the custom resource that `recorded.json.zst` was recorded with: it has every kind of list and map. */

import { objectMetaType } from "../../../src/sandbox/schema/catalogue.ts"
import { type KubernetesType, makeType } from "../../../src/sandbox/schema/kubernetes-type.ts"

export const text = makeType("string")
export const integer = makeType("integer")

export const object = (fields: Record<string, KubernetesType>, rest: Partial<KubernetesType> = {}): KubernetesType =>
  makeType("object", { fields: new Map(Object.entries(fields)), ...rest })

export const keyed = (keys: string[], items: KubernetesType, defaults: Record<string, unknown> = {}): KubernetesType =>
  makeType("list", { items, listType: "map", listMapKeys: keys, keyDefaults: new Map(Object.entries(defaults)) })

export const setOf = (items: KubernetesType): KubernetesType => makeType("list", { items, listType: "set" })

export const specType = object({
  text,
  number: integer,
  ratio: makeType("number"),
  flag: makeType("boolean"),
  either: makeType("int-or-string"),
  list: makeType("list", { items: integer }),
  set: setOf(text),
  numbers: setOf(integer),
  ports: keyed(
    ["port", "protocol"],
    object({
      port: integer,
      protocol: makeType("string", { default: "TCP" }),
      name: text,
      inner: keyed(["id"], object({ id: text, value: integer })),
    }),
    { protocol: "TCP" },
  ),
  labels: makeType("map", { items: text }),
  whole: makeType("map", { items: text, isAtomic: true }),
  nested: object({ a: integer, b: object({ c: text, d: makeType("list", { items: text }) }) }),
  free: object({}, { keepsUnknown: true }),
})

export const thingType = object({ apiVersion: text, kind: text, metadata: objectMetaType(), spec: specType })
