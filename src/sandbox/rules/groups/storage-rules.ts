/** Volumes, claims and what provides them. */

import {
  type Errors,
  forbidden,
  immutable,
  invalid,
  invalidEach,
  notSupported,
  required,
} from "../../../apiserver/answers/field-error.ts"
import { subdomainComplaints } from "../../../kube/names.ts"
import { canonicalQuantity, quantityOf } from "../../../kube/quantity.ts"
import type { DefaultTable } from "../default-table.ts"
import {
  changedKeys,
  child,
  ensured,
  isAbsent,
  isEmptyMap,
  isSame,
  list,
  number,
  spellAmounts,
  text,
  texts,
} from "../fields.ts"
import type { Kind } from "../kind.ts"
import type { Fields, MutableObject } from "../kind-rules.ts"
import { claimSpec, volumeSources } from "../pods/pod-defaults.ts"

const accessModes = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]

/** The members of a PersistentVolume's spec besides its source. */
const notSources = new Set([
  "capacity",
  "accessModes",
  "claimRef",
  "persistentVolumeReclaimPolicy",
  "storageClassName",
  "mountOptions",
  "volumeMode",
  "nodeAffinity",
  "volumeAttributesClassName",
])

const volumeSpec: DefaultTable = {
  set: { persistentVolumeReclaimPolicy: "Retain", volumeMode: "Filesystem" },
  within: { ...volumeSources, capacity: { derive: spellAmounts } },
}

export const persistentVolumeKind: Kind = {
  defaults: { make: { spec: volumeSpec, status: { set: { phase: "Pending" } } } },
  // The time of the creation: the server reads its clock for both within the same request.
  newStatus: ({ metadata }) => ({ phase: "Pending", lastPhaseTransitionTime: metadata.creationTimestamp }),
  check: (object, errors) => {
    const spec = child(object, "spec") ?? {}
    if (list(spec, "accessModes").length === 0) errors.push(required("spec.accessModes"))
    for (const mode of texts(spec, "accessModes"))
      if (!accessModes.includes(mode)) errors.push(notSupported("spec.accessModes", mode, accessModes))
    const capacity = child(spec, "capacity")
    if (isEmptyMap(capacity)) errors.push(required("spec.capacity"))
    if (capacity?.storage === undefined || Object.keys(capacity).length > 1)
      errors.push(notSupported("spec.capacity", capacity ?? null, ["storage"]))
    if (!Object.keys(spec).some((key) => !notSources.has(key) && !isAbsent(spec[key])))
      errors.push(required("spec", "must specify a volume type"))
  },
}

const checkClaim = (object: MutableObject, errors: Errors): void => {
  const spec = child(object, "spec") ?? {}
  if (list(spec, "accessModes").length === 0)
    errors.push(required("spec.accessModes", "at least 1 access mode is required"))
  for (const mode of texts(spec, "accessModes"))
    if (!accessModes.includes(mode)) errors.push(notSupported("spec.accessModes", mode, accessModes))
  const storage = child(child(spec, "resources"), "requests")?.storage
  const amount = quantityOf(storage)
  if (isAbsent(storage)) errors.push(required("spec.resources[storage]"))
  else if (amount !== undefined && amount <= 0)
    errors.push(invalid("spec.resources[storage]", canonicalQuantity(storage), "must be greater than zero"))
  const storageClass = text(spec, "storageClassName")
  if (storageClass !== "")
    errors.push(...invalidEach("spec.storageClassName", storageClass, subdomainComplaints(storageClass)))
}

/** There is an old and a new field for the source; setting one of them sets both. */
const alignSources = (object: MutableObject): void => {
  const spec = ensured(object, "spec")
  const [source, reference] = [child(spec, "dataSource"), child(spec, "dataSourceRef")]
  if (source !== undefined && reference === undefined) spec.dataSourceRef = { ...source }
  if (source === undefined && reference !== undefined && text(reference, "namespace") === "") {
    const { namespace: _namespace, ...rest } = reference
    spec.dataSource = rest
  }
}

const storageOf = (spec: Fields): unknown => child(child(spec, "resources"), "requests")?.storage

/** The new spec without what may change: the requested amount once the claim is bound, and the class. */
const withChangeable = (spec: Fields, old: Fields, isBound: boolean): Fields => {
  const resources = child(spec, "resources")
  const requests = child(resources, "requests")
  return {
    ...spec,
    ...(isBound && requests !== undefined
      ? { resources: { ...resources, requests: { ...requests, storage: storageOf(old) } } }
      : {}),
    volumeAttributesClassName: old.volumeAttributesClassName,
  }
}

const checkClaimChange = (object: MutableObject, old: MutableObject, errors: Errors): void => {
  const [spec, stored] = [child(object, "spec") ?? {}, child(old, "spec") ?? {}]
  // The binder fills in the volume, once.
  const before = text(stored, "volumeName") === "" ? { ...stored, volumeName: spec.volumeName } : stored
  const after = withChangeable(spec, before, child(object, "status")?.phase === "Bound")
  if (!isSame(after, before)) {
    const changed = changedKeys(after, before).map((key) => `spec.${key}`)
    errors.push(
      forbidden(
        "spec",
        "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound " +
          `claims; changed: ${changed.join(", ")}`,
      ),
    )
  }
  const [wanted, present] = [quantityOf(storageOf(spec)) ?? 0, quantityOf(storageOf(stored)) ?? 0]
  const capacity = quantityOf(child(child(old, "status"), "capacity")?.storage) ?? 0
  if (wanted < present && wanted <= capacity)
    errors.push(forbidden("spec.resources.requests.storage", "field can not be less than status.capacity"))
  if (spec.volumeMode !== stored.volumeMode) errors.push(immutable("volumeMode", spec.volumeMode ?? null))
}

export const persistentVolumeClaimKind: Kind = {
  defaults: { make: { spec: claimSpec, status: { set: { phase: "Pending" } } } },
  newStatus: () => ({ phase: "Pending" }),
  prepareCreate: alignSources,
  prepareUpdate: alignSources,
  check: checkClaim,
  checkChange: checkClaimChange,
}

export const storageClassKind: Kind = {
  defaults: { set: { reclaimPolicy: "Delete", volumeBindingMode: "Immediate" } },
  check: (object, errors) => {
    if (text(object, "provisioner") === "") errors.push(required("provisioner"))
    const choices = [
      ["reclaimPolicy", ["Delete", "Retain"]],
      ["volumeBindingMode", ["Immediate", "WaitForFirstConsumer"]],
    ] as const
    for (const [key, supported] of choices) {
      const value = text(object, key)
      if (!supported.some((name) => name === value)) errors.push(notSupported(key, value, supported))
    }
  },
  checkChange: (object, old, errors) => {
    const fixed = [
      ["parameters", "updates to parameters are forbidden."],
      ["provisioner", "updates to provisioner are forbidden."],
      ["reclaimPolicy", "updates to reclaimPolicy are forbidden."],
    ] as const
    for (const [key, detail] of fixed) if (!isSame(object[key], old[key])) errors.push(forbidden(key, detail))
    if (object.volumeBindingMode !== old.volumeBindingMode)
      errors.push(invalid("volumeBindingMode", object.volumeBindingMode, "field is immutable"))
  },
}

/** The members of a driver's spec whose change counts as a new generation. */
const followed = (driver: MutableObject): ReadonlyArray<unknown> => {
  const spec = child(driver, "spec")
  return [
    "tokenRequests",
    "requiresRepublish",
    "seLinuxMount",
    "podInfoOnMount",
    "storageCapacity",
    "fsGroupPolicy",
    "nodeAllocatableUpdatePeriodSeconds",
  ].map((key) => spec?.[key])
}

export const csiDriverKind: Kind = {
  defaults: {
    make: {
      spec: {
        set: {
          attachRequired: true,
          podInfoOnMount: false,
          storageCapacity: false,
          fsGroupPolicy: "ReadWriteOnceWithFSType",
          requiresRepublish: false,
          seLinuxMount: false,
        },
        derive: (spec) => {
          if (list(spec, "volumeLifecycleModes").length === 0) spec.volumeLifecycleModes = ["Persistent"]
        },
      },
    },
  },
  checkChange: (object, old, errors) => {
    const [spec, before] = [child(object, "spec") ?? {}, child(old, "spec") ?? {}]
    // The server misspells the field of the first one.
    if (spec.attachRequired !== before.attachRequired)
      errors.push(immutable("spec.attachedRequired", spec.attachRequired))
    if (!isSame(spec.volumeLifecycleModes, before.volumeLifecycleModes))
      errors.push(immutable("spec.volumeLifecycleModes", spec.volumeLifecycleModes))
  },
  // New objects have no generation; it is counted from the first change.
  prepareUpdate: (object, old) => {
    if (!isSame(followed(object), followed(old)))
      object.metadata.generation = (number(old.metadata, "generation") ?? 0) + 1
  },
  unconditionalUpdate: false,
}

const withoutDrivers = (object: MutableObject): void => {
  const spec = child(object, "spec")
  if (spec !== undefined && list(spec, "drivers").length === 0) object.spec = { ...spec, drivers: null }
}

export const csiNodeKind: Kind = {
  defaults: {
    make: {
      spec: {
        derive: (spec) => {
          spec.drivers ??= null
        },
      },
    },
  },
  // An empty list is owned by the client that sent it, though it is not stored.
  prepareCreate: (object) => withoutDrivers(object),
  prepareUpdate: (object) => withoutDrivers(object),
  unconditionalUpdate: false,
}

export const volumeAttachmentKind: Kind = {
  defaults: { make: { status: { set: { attached: false } } } },
  newStatus: () => ({ attached: false }),
  unconditionalUpdate: false,
}
