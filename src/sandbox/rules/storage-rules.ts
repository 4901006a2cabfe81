/** Volumes, claims and what provides them. */

import type { DefaultTable } from "./default-table.ts"
import { type Errors, forbidden, invalid, invalidEach, notSupported, required } from "./field-error.ts"
import { child, isAbsent, isEmptyMap, isSame, list, text, texts } from "./fields.ts"
import type { Kind } from "./kind.ts"
import type { Fields, MutableObject } from "./kind-rules.ts"
import { subdomainComplaints } from "./names.ts"
import { claimSpec, volumeSources } from "./pod-defaults.ts"
import { canonicalQuantity, quantityOf, spellAmounts } from "./quantity.ts"

const accessModes = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]

/** What a PersistentVolume's spec holds besides its source. */
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

/** Of a claim's spec, what never changes. */
const fixedPart = (spec: Fields, old: Fields): Fields => ({
  ...spec,
  resources: { ...child(spec, "resources"), requests: child(child(old, "resources"), "requests") },
  volumeAttributesClassName: old.volumeAttributesClassName,
  // The binder fills these in.
  ...(text(old, "volumeName") === "" ? { volumeName: undefined } : {}),
})

export const persistentVolumeClaimKind: Kind = {
  defaults: { make: { spec: claimSpec, status: { set: { phase: "Pending" } } } },
  newStatus: () => ({ phase: "Pending" }),
  check: checkClaim,
  checkChange: (object, old, errors) => {
    const [spec, before] = [child(object, "spec") ?? {}, child(old, "spec") ?? {}]
    const unchanged = isSame(fixedPart(spec, before), fixedPart(before, before))
    if (!unchanged)
      errors.push(
        forbidden(
          "spec",
          "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
        ),
      )
  },
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
  unconditionalUpdate: false,
}

export const csiNodeKind: Kind = {
  defaults: {
    make: {
      spec: {
        derive: (spec) => {
          if (list(spec, "drivers").length === 0) spec.drivers = null
        },
      },
    },
  },
  unconditionalUpdate: false,
}

export const volumeAttachmentKind: Kind = {
  defaults: { make: { status: { set: { attached: false } } } },
  newStatus: () => ({ attached: false }),
  unconditionalUpdate: false,
}
