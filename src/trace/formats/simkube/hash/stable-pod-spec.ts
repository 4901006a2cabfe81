/**
 * The stable pod spec: the part of a pod's spec that identifies the pod independently of its assigned node and service account, and its
 * hash, by which lifecycles are looked up when a trace is replayed (docs/facts/simkube.md#pod-lifecycles).
 *
 * SimKube reads the spec into the types of Kubernetes 1.30 and writes it again, so nulls and fields that those types lack are lost, at
 * every depth, and required fields that are missing or null become empty. Then:
 *
 * | field                                              | becomes                                                     |
 * | -------------------------------------------------- | ----------------------------------------------------------- |
 * | `volumes`                                          | without names starting `kube-api-access`; there even if `[]` |
 * | `nodeName`, `serviceAccount`, `serviceAccountName` | removed                                                     |
 * | `volumeMounts` of init and main containers         | like `volumes`                                              |
 * | `ports` of main containers                         | removed                                                     |
 *
 * Everything else stays, including ports of init containers and empty values. Total: a value of another type than the field has stays
 * unchanged; SimKube could not read such a pod at all.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/exact-json.ts"
import { podSpecTypes } from "./pod-spec-1-30.ts"
import { simkubeHash } from "./simkube-hash.ts"

/** Hash of the stable pod spec of a pod's `spec`; an unsigned 64-bit integer. @throws NestingTooDeepError */
export const stablePodSpecHash = (spec: JsonValue | undefined): bigint => simkubeHash(stablePodSpec(spec))

/** The stable pod spec of a pod's `spec`; an absent one counts as empty. The input is not changed. */
export const stablePodSpec = (spec: JsonValue | undefined): JsonObject => {
  const typed = throughType("PodSpec", isJsonObject(spec) ? spec : {}) as Readonly<Record<string, JsonValue>>
  const { nodeName: _node, serviceAccount: _account, serviceAccountName: _accountName, ...stable } = typed
  return {
    ...stable,
    volumes: withoutApiAccess(stable.volumes),
    containers: mapped(stable.containers, ({ ports: _ports, ...container }) => withStableMounts(container)),
    ...(stable.initContainers !== undefined && {
      initContainers: mapped(stable.initContainers, withStableMounts),
    }),
  }
}

const withStableMounts = (container: JsonObject): JsonObject => ({
  ...container,
  volumeMounts: withoutApiAccess(container.volumeMounts),
})

/** Removes the service account's token, which the API server mounts under a random name. */
const withoutApiAccess = (named: JsonValue | undefined): JsonValue => {
  if (named === undefined) return []
  if (!Array.isArray(named)) return named
  return named.filter(
    (each) => !(isJsonObject(each) && typeof each.name === "string" && each.name.startsWith("kube-api-access")),
  )
}

const mapped = (list: JsonValue | undefined, map: (each: JsonObject) => JsonObject): JsonValue =>
  Array.isArray(list) ? list.map((each: JsonValue) => (isJsonObject(each) ? map(each) : each)) : (list ?? [])

interface Field {
  /** The value used if the field is missing; `undefined` if the field is optional. */
  readonly empty: JsonValue | undefined
  readonly container: "" | "[]" | "{}"
  readonly type: string
}

const emptyOf: Readonly<Record<string, JsonValue>> = { text: "", boolean: false, number: 0, list: [], object: {} }

interface PodSpecType {
  readonly fields: ReadonlyMap<string, Field>
  readonly required: ReadonlyArray<readonly [name: string, field: Field]>
}

/** Each type is parsed at its first use. */
const typesRead = new Map<string, PodSpecType>()

const typeOf = (name: string): PodSpecType => {
  let type = typesRead.get(name)
  if (type === undefined) {
    const described = podSpecTypes[name]
    if (described === undefined) throw new Error(`pod-spec-1-30.ts has no type ${name}`)
    const fields = new Map(described.split(" ").map(parseField))
    type = { fields, required: [...fields].filter(([, { empty }]) => empty !== undefined) }
    typesRead.set(name, type)
  }
  return type
}

const parseField = (text: string): readonly [string, Field] => {
  const match = /^(\w+)(?:!(\w+))?(?::(\[\]|\{\})?(\w+))?$/.exec(text)
  if (match === null) throw new Error(`pod-spec-1-30.ts has a field ${text}`)
  const [, name = "", shape, container = "", type = ""] = match
  const empty = shape === undefined ? undefined : emptyOf[shape]
  return [name, { empty, container: container as Field["container"], type }]
}

/** The object after a round trip through a type. */
const throughType = (type: string, value: JsonObject): JsonObject => {
  const { fields, required } = typeOf(type)
  const kept: Record<string, JsonValue> = {}
  for (const name of Object.keys(value)) {
    const field = fields.get(name)
    const given = value[name]
    if (field !== undefined && given !== undefined && given !== null) kept[name] = throughField(field, given)
  }
  for (const [name, field] of required) {
    if (!Object.hasOwn(kept, name)) kept[name] = throughField(field, field.empty as JsonValue)
  }
  return kept
}

const throughField = ({ container, type }: Field, value: JsonValue): JsonValue => {
  if (type === "") return value
  if (container === "[]") return mapped(value, (each) => throughType(type, each))
  if (!isJsonObject(value)) return value
  if (container === "") return throughType(type, value)
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, isJsonObject(each) ? throughType(type, each) : each]),
  )
}
