/**
 * An object of a trace as it is written to the target: in a namespace or under a name of the replay's own, marked as
 * belonging to it, its pods on virtual nodes. Equal states in the trace give equal bodies, so a state that changes
 * nothing is recognised.
 */

import {
  builtInTemplatePaths,
  changedAt,
  hasPrescribedName,
  type IsInTrace,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  replayObject,
  withMember,
  withoutMember,
  withProperty,
} from "../../trace/index.ts"
import { simulationLabel } from "../api/derived-names.ts"
import { isSystemNamed } from "./not-replayed.ts"
import { listIn, type Placement, placePods } from "./pod-templates.ts"
import { type NewNames, withNewNames, withNewNamesInPod, withVolume } from "./renamed-references.ts"

// What an object of the trace would do to the whole target, beyond the replay: such parts are removed.
//
// A default class would be taken by every new claim and Ingress of the cluster, a label would add rules to the roles of its administrators,
// and a binding would give the recorded cluster's users and groups rights in another one. A volume names a disk that may exist and belong to
// the recorded cluster: when its copy is removed, a provisioner of the target must not delete that disk.

/** By GVK: paths of members to remove. */
const effects: ReadonlyMap<string, ReadonlyArray<ReadonlyArray<string>>> = new Map<
  string,
  ReadonlyArray<ReadonlyArray<string>>
>([
  [
    "storage.k8s.io/v1.StorageClass",
    [
      ["metadata", "annotations", "storageclass.kubernetes.io/is-default-class"],
      ["metadata", "annotations", "storageclass.beta.kubernetes.io/is-default-class"],
    ],
  ],
  ["networking.k8s.io/v1.IngressClass", [["metadata", "annotations", "ingressclass.kubernetes.io/is-default-class"]]],
  [
    "snapshot.storage.k8s.io/v1.VolumeSnapshotClass",
    [["metadata", "annotations", "snapshot.storage.kubernetes.io/is-default-class"]],
  ],
  ["scheduling.k8s.io/v1.PriorityClass", [["globalDefault"]]],
  [
    "rbac.authorization.k8s.io/v1.ClusterRole",
    ["admin", "edit", "view"].map((role) => ["metadata", "labels", `rbac.authorization.k8s.io/aggregate-to-${role}`]),
  ],
])

/** The object without effects outside of the replay. The input is not changed. */
export const contained = (gvk: string, object: JsonObject): JsonObject => {
  let left = object
  for (const path of effects.get(gvk) ?? []) left = withoutAt(left, path)
  if (gvk === "v1.PersistentVolume" && isJsonObject(left.spec))
    return withMember(left, "spec", withMember(left.spec, "persistentVolumeReclaimPolicy", "Retain"))
  if (gvk !== "rbac.authorization.k8s.io/v1.ClusterRoleBinding" || !Array.isArray(left.subjects)) return left
  return withMember(
    left,
    "subjects",
    listIn(left.subjects).filter((subject) => isJsonObject(subject) && subject.kind === "ServiceAccount"),
  )
}

const withoutAt = (object: JsonObject, path: ReadonlyArray<string>): JsonObject => {
  const changed = changedAt(object, path.slice(0, -1), (holder) => withoutMember(holder, path.at(-1) ?? ""))
  return isJsonObject(changed) ? changed : object
}

/** Label on everything that a replay creates itself; its value is the replay's name. */
export const replayLabel = "kubereel.dev/replay"
/** SimKube's label on what it replays; its own tools select by it. */
const virtualLabel = "simkube.io/virtual"

/** Of the replay of that name: by default the root of all that it creates; nothing else is written into it. */
export const rootNamespace = (replay: string): string => `kubereel-replay-${replay}`

/** The owner of everything that a replay creates: when it is deleted, the garbage collector deletes the rest. */
export interface ReplayRoot {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  /** A deletion of the root in the foreground waits for what has it. Default: it waits for nothing. */
  readonly blockOwnerDeletion?: boolean | undefined
}

/** What marks an object as belonging to a replay. */
export interface Ownership {
  /** The replay's name: the value of {@link replayLabel}, at most 63 characters. */
  readonly replay: string
  readonly root: ReplayRoot
  /** The Simulation that it is a repetition of; its name is the value of SimKube's label, at most 63 characters. Default: none. */
  readonly simulation?: string | undefined
}

/** How objects are changed; the same for a whole replay. */
export interface Rewriting extends Ownership {
  /** `virtual` makes `shop` `virtual-shop`. */
  readonly namespacePrefix: string
  readonly placement: Placement
  /** Where the pod templates of a kind are, for kinds that are not built in. */
  readonly templatePaths: (gvk: string) => ReadonlyArray<string> | undefined
  /** Whether the replay writes the cluster-scoped object that has this name in the trace, so that references to it are rewritten too. */
  readonly isReplayed: (gvk: string, name: string) => boolean
}

/** The identity of an object in the target. */
export interface TargetPlace {
  readonly gvk: string
  /** Empty for a cluster-scoped object. */
  readonly namespace: string
  readonly name: string
}

/** An owner in the trace, whose UID in the target is known only once it was written. */
interface KeptOwner {
  readonly place: TargetPlace
  readonly reference: JsonObject
}

/** A body for a server-side apply, complete but for the UIDs of its owners. */
export interface TargetObject {
  readonly place: TargetPlace
  readonly body: JsonObject
  readonly owners: ReadonlyArray<KeptOwner>
}

/** Most characters of a namespace's name (RFC 1123 label). */
const longestNamespace = 63

/** The namespace of the target for one of the trace; `undefined`: the name would be too long. */
export const targetNamespace = (namespace: string, { namespacePrefix }: Rewriting): string | undefined => {
  const prefixed = namespacePrefix === "" ? namespace : `${namespacePrefix}-${namespace}`
  return prefixed.length > longestNamespace ? undefined : prefixed
}

/** Where an object of the trace is in the target; `undefined`: its namespace would have too long a name. */
export const targetPlace = (
  gvk: string,
  namespace: string,
  name: string,
  rewriting: Rewriting,
): TargetPlace | undefined => {
  if (namespace !== "") {
    const target = targetNamespace(namespace, rewriting)
    return target === undefined ? undefined : { gvk, namespace: target, name }
  }
  if (hasPrescribedName(gvk)) return { gvk, namespace, name }
  const target = targetNamespace(name, rewriting)
  if (gvk === "v1.Namespace") return target === undefined ? undefined : { gvk, namespace, name: target }
  const { namespacePrefix } = rewriting
  return { gvk, namespace, name: namespacePrefix === "" ? name : `${namespacePrefix}-${name}` }
}

/** Labels and owner of what a replay creates, for namespaces that no object of the trace describes, too. */
export const ownMetadata = ({ replay, root, simulation }: Ownership) => ({
  labels: {
    [replayLabel]: replay,
    [virtualLabel]: "true",
    ...(simulation !== undefined && { [simulationLabel]: simulation }),
  },
  ownerReferences: [
    {
      apiVersion: root.apiVersion,
      kind: root.kind,
      name: root.name,
      uid: root.uid,
      ...(root.blockOwnerDeletion === true && { blockOwnerDeletion: true }),
    },
  ],
})

/**
 * @param place as {@link targetPlace} gives it
 * @param isInTrace decides which owner references are kept
 */
export const targetObject = (
  object: JsonObject,
  place: TargetPlace,
  originalNamespace: string,
  rewriting: Rewriting,
  isInTrace: IsInTrace,
): TargetObject => {
  const { gvk } = place
  const clean = contained(gvk, replayObject(gvk, object, isInTrace))
  const metadata = isJsonObject(clean.metadata) ? clean.metadata : {}
  const owners = keptOwners(metadata, originalNamespace, rewriting, isInTrace)
  const own = ownMetadata(rewriting)
  const names = newNames(rewriting)
  let marked: Record<string, JsonValue> = {}
  for (const [key, value] of Object.entries(metadata))
    if (key !== "ownerReferences" && key !== "generateName") marked = withProperty(marked, key, value)
  marked.name = place.name
  if (place.namespace !== "") marked.namespace = place.namespace
  marked.labels = { ...(isJsonObject(metadata.labels) ? metadata.labels : {}), ...own.labels }
  marked.ownerReferences = own.ownerReferences
  const paths = rewriting.templatePaths(gvk) ?? builtInTemplatePaths(gvk) ?? []
  const placed = placePods(withMember(clean, "metadata", marked), paths, {
    originalNamespace,
    placement: rewriting.placement,
    renamed: (spec) => withNewNamesInPod(spec, names),
  })
  const renamed = withNewNames(gvk, placed, names)
  const volume = gvk === "v1.PersistentVolumeClaim" && isJsonObject(object.spec) ? object.spec.volumeName : undefined
  const body =
    typeof volume === "string" ? withVolume(renamed, volume, names.ofObject("v1.PersistentVolume", volume)) : renamed
  return { place, body, owners }
}

const keptOwners = (
  metadata: JsonObject,
  namespace: string,
  rewriting: Rewriting,
  isInTrace: IsInTrace,
): ReadonlyArray<KeptOwner> => {
  return listIn(metadata.ownerReferences).flatMap((reference) => {
    if (!isJsonObject(reference)) return []
    const [gvk, name] = [`${String(reference.apiVersion)}.${String(reference.kind)}`, String(reference.name)]
    const at = isInTrace(gvk, namespace, name, reference) ? namespace : ""
    const place = targetPlace(gvk, at, name, rewriting)
    return place === undefined ? [] : [{ place, reference }]
  })
}

/** The body with the UIDs that the target gave to its owners; an owner without one is left out, because the server would delete the object. */
export const withOwners = (
  { body, owners }: TargetObject,
  uidOf: (place: TargetPlace) => string | undefined,
): JsonObject => {
  if (owners.length === 0) return body
  const metadata = isJsonObject(body.metadata) ? body.metadata : {}
  const known = owners.flatMap(({ place, reference }) => {
    const uid = uidOf(place)
    return uid === undefined ? [] : [{ ...reference, name: place.name, uid }]
  })
  const root = listIn(metadata.ownerReferences)
  return withMember(body, "metadata", withMember(metadata, "ownerReferences", [...known, ...root]))
}

/** What is not replayed, such as system priority classes, keeps its name. */
const newNames = (rewriting: Rewriting): NewNames => ({
  ofObject: (gvk, name) => {
    if (!rewriting.isReplayed(gvk, name) || isSystemNamed(gvk, name)) return name
    return targetPlace(gvk, "", name, rewriting)?.name ?? name
  },
  ofNamespace: (namespace) => targetNamespace(namespace, rewriting) ?? namespace,
})
