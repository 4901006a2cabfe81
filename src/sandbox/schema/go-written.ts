/**
 * A decoded object of a built-in kind as Go writes it again: empty lists and maps are gone (`omitempty`), a null is the
 * zero value of its type, and times that are not pointers are written as null. The real server sees every object through
 * its Go structs before it compares, stores or tracks it; so must this one.
 *
 * One linear walk; arguments are not changed, and parts that need no change are shared. Values of the wrong type stay as they
 * are: refuse them first. Custom kinds are not Go structs and are returned unchanged.
 */

import { isRecord } from "../../is-record.ts"
import { memberOf, setMember } from "../../own-member.ts"
import { type KubernetesType, schemaNameOf } from "./kubernetes-type.ts"

/** Times without `omitempty` in effect: a struct is never omitted. OpenAPI does not state this; it is from the API's Go types. */
const timesAlwaysThere: Readonly<Record<string, ReadonlyArray<string>>> = {
  "v1.PodCondition": ["lastProbeTime", "lastTransitionTime"],
  "v1.JobCondition": ["lastProbeTime", "lastTransitionTime"],
  "v1.PersistentVolumeClaimCondition": ["lastProbeTime", "lastTransitionTime"],
  "v1.NodeCondition": ["lastHeartbeatTime", "lastTransitionTime"],
  "v1.DeploymentCondition": ["lastUpdateTime", "lastTransitionTime"],
  "v1.ReplicaSetCondition": ["lastTransitionTime"],
  "v1.StatefulSetCondition": ["lastTransitionTime"],
  "v1.DaemonSetCondition": ["lastTransitionTime"],
  "v1.ReplicationControllerCondition": ["lastTransitionTime"],
  "v1.NamespaceCondition": ["lastTransitionTime"],
  "v1.CustomResourceDefinitionCondition": ["lastTransitionTime"],
  "v2.HorizontalPodAutoscalerCondition": ["lastTransitionTime"],
  "v1.ContainerStateRunning": ["startedAt"],
  "v1.ContainerStateTerminated": ["startedAt", "finishedAt"],
}

/**
 * Optional and yet always written: `+optional` without `omitempty`. Other lists that are always written are required.
 * managedFields is not among these: an empty list of them is a client's request to reset them.
 */
const listsAlwaysThere: Readonly<Record<string, ReadonlyArray<string>>> = {
  "v1.ObjectMeta": ["managedFields"],
  "v1.Role": ["rules"],
  "v1.ClusterRole": ["rules"],
  "v1.CSINodeDriver": ["topologyKeys"],
  "v1.EndpointSlice": ["ports"],
  "v1.CustomResourceDefinitionStatus": ["conditions", "storedVersions"],
  "v2.HorizontalPodAutoscalerStatus": ["currentMetrics"],
}

const none: ReadonlyArray<string> = []

/** The value as Go writes it. Parts shared with `before` (an earlier result of this function) are not walked again. */
export const asGoWrites = <Value>(type: KubernetesType, value: Value, before?: unknown): Value =>
  written(type, value, before) as Value

const written = (type: KubernetesType, value: unknown, before: unknown): unknown => {
  if (typeof value !== "object" || value === null || value === before) return value
  const { items } = type
  switch (type.kind) {
    case "object":
      return type.keepsUnknown || schemaNameOf(type) === undefined || !isRecord(value)
        ? value
        : fieldsAs(type, value, before)
    case "map":
      return items === undefined || !isRecord(value) ? value : membersAs(items, value, before)
    case "list":
      return items === undefined || !Array.isArray(value) ? value : itemsAs(items, value)
    default:
      return value
  }
}

type Fields = Record<string, unknown>

const fieldsAs = (type: KubernetesType, value: Fields, before: unknown): Fields => {
  const old = isRecord(before) ? before : undefined
  const name = schemaNameOf(type) ?? ""
  const times = timesAlwaysThere[name] ?? none
  const lists = listsAlwaysThere[name] ?? none
  let changed: Fields | undefined
  for (const key of Object.keys(value)) {
    const field = type.fields.get(key)
    const member = value[key]
    if (field === undefined || typeof member !== "object") continue
    const known = old === undefined ? undefined : memberOf(old, key)
    if (member === known) continue
    const isKept = times.includes(key) || lists.includes(key) || type.required.includes(key)
    if (!isKept && isNothing(field, member)) {
      changed ??= { ...value }
      delete changed[key]
      continue
    }
    const next = written(field, member, known)
    if (next === member) continue
    changed ??= { ...value }
    setMember(changed, key, next)
  }
  for (const key of times) {
    if (Object.hasOwn(value, key)) continue
    changed ??= { ...value }
    changed[key] = null
  }
  return changed ?? value
}

/** Whether `omitempty` omits it. It does not omit an empty object, which is a pointer or a struct in Go. */
const isNothing = (type: KubernetesType, value: object | null): boolean => {
  if (value === null) return true
  if (type.kind === "list") return Array.isArray(value) && value.length === 0
  return type.kind === "map" && isRecord(value) && Object.keys(value).length === 0
}

const membersAs = (items: KubernetesType, value: Fields, before: unknown): Fields => {
  const old = isRecord(before) ? before : undefined
  let changed: Fields | undefined
  for (const key of Object.keys(value)) {
    const next = itemAs(items, value[key], old === undefined ? undefined : memberOf(old, key))
    if (next === value[key]) continue
    changed ??= { ...value }
    setMember(changed, key, next)
  }
  return changed ?? value
}

const itemsAs = (items: KubernetesType, value: ReadonlyArray<unknown>): ReadonlyArray<unknown> => {
  let changed: unknown[] | undefined
  for (let index = 0; index < value.length; index++) {
    const next = itemAs(items, value[index], undefined)
    if (next === value[index]) continue
    changed ??= [...value]
    changed[index] = next
  }
  return changed ?? value
}

/** Texts have the zero value "", bytes the zero value null. */
const itemAs = (type: KubernetesType, value: unknown, before: unknown): unknown =>
  value === null && type.kind === "string" && schemaNameOf(type) === "string" ? "" : written(type, value, before)
