/**
 * What a decoded object of a built-in kind looks like once Go has written it again: empty lists and maps are gone
 * (`omitempty`), a null is the zero value of its type, and times that are no pointers stand there as null. The real server
 * sees every object through its Go structs before it compares, stores or tracks it; so must this one.
 *
 * One walk, linear; nothing that is given is changed, what is already so is shared. Values of the wrong type stay as they are:
 * refuse them first. Custom kinds are no Go structs and come back untouched.
 */

import { isRecord } from "../../is-record.ts"
import { memberOf, setMember } from "../../own-member.ts"
import type { KubernetesType } from "./kubernetes-type.ts"
import { schemaNameOf } from "./make-type.ts"

/** Times without `omitempty` in effect: a struct is never left out. Not told by OpenAPI; from the API's Go types. */
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
 * Optional and yet always written: `+optional` without `omitempty`. Others that are always written are required. An empty list
 * of managedFields is no such thing, but a client's wish to forget them all.
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

/** The value as Go writes it. Parts that `before` (an earlier outcome of this function) holds too are not looked at. */
export const asGoWrites = (type: KubernetesType, value: unknown, before?: unknown): unknown => {
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
  let written: Fields | undefined
  for (const key of Object.keys(value)) {
    const field = type.fields.get(key)
    const member = value[key]
    if (field === undefined || typeof member !== "object") continue
    const known = old === undefined ? undefined : memberOf(old, key)
    if (member === known) continue
    const isKept = times.includes(key) || lists.includes(key) || type.required.includes(key)
    if (!isKept && isNothing(field, member)) {
      written ??= { ...value }
      delete written[key]
      continue
    }
    const next = asGoWrites(field, member, known)
    if (next === member) continue
    written ??= { ...value }
    setMember(written, key, next)
  }
  for (const key of times) {
    if (Object.hasOwn(value, key)) continue
    written ??= { ...value }
    written[key] = null
  }
  return written ?? value
}

/** Whether `omitempty` leaves it out. An empty object does not count: behind it stands a pointer or a struct. */
const isNothing = (type: KubernetesType, value: object | null): boolean => {
  if (value === null) return true
  if (type.kind === "list") return Array.isArray(value) && value.length === 0
  return type.kind === "map" && isRecord(value) && Object.keys(value).length === 0
}

const membersAs = (items: KubernetesType, value: Fields, before: unknown): Fields => {
  const old = isRecord(before) ? before : undefined
  let written: Fields | undefined
  for (const key of Object.keys(value)) {
    const next = itemAs(items, value[key], old === undefined ? undefined : memberOf(old, key))
    if (next === value[key]) continue
    written ??= { ...value }
    setMember(written, key, next)
  }
  return written ?? value
}

const itemsAs = (items: KubernetesType, value: ReadonlyArray<unknown>): ReadonlyArray<unknown> => {
  let written: unknown[] | undefined
  for (let index = 0; index < value.length; index++) {
    const next = itemAs(items, value[index], undefined)
    if (next === value[index]) continue
    written ??= [...value]
    written[index] = next
  }
  return written ?? value
}

/** Texts have the zero value "", bytes the zero value null. */
const itemAs = (type: KubernetesType, value: unknown, before: unknown): unknown =>
  value === null && type.kind === "string" && schemaNameOf(type) === "string" ? "" : asGoWrites(type, value, before)
