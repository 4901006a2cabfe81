/** Volumes, claims and what provides them. The defaults of volumes' sources are in types.json. */

import { canonicalQuantity, quantityOf } from "../../kube/offline.ts"
import { needed } from "./checks.ts"
import { changedKeys, child, emptyIsNone, ensured, isAbsent, isSame, list, number, text } from "./fields.ts"
import type { CheckChange, Fields, Kind, MutableObject } from "./kind-rules.ts"
import type { Check, RulesByType } from "./type-rules.ts"

const storageOf = (spec: Fields): unknown => child(child(spec, "resources"), "requests")?.storage

const checkStorage: Check = (_value, at, spec) => {
  const storage = storageOf(spec)
  const place = at.at("resources", "[storage]")
  if (isAbsent(storage)) place.required()
  else if ((quantityOf(storage) ?? 1) <= 0) place.invalid(canonicalQuantity(storage), "must be greater than zero")
}

export const types: RulesByType = {
  "core/v1.PersistentVolumeClaimSpec": {
    checks: { accessModes: needed("at least 1 access mode is required"), self: checkStorage },
  },
  "storage/v1.CSIDriverSpec": {
    derive: (spec) => {
      if (list(spec, "volumeLifecycleModes").length === 0) spec.volumeLifecycleModes = ["Persistent"]
    },
  },
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

const checkClaimChange: CheckChange = (object, old, root) => {
  const [spec, stored] = [child(object, "spec") ?? {}, child(old, "spec") ?? {}]
  const at = root.at("spec")
  // The binder fills in the volume, once.
  const before = text(stored, "volumeName") === "" ? { ...stored, volumeName: spec.volumeName } : stored
  const after = withChangeable(spec, before, child(object, "status")?.phase === "Bound")
  if (!isSame(after, before)) {
    const changed = changedKeys(after, before).map((key) => `spec.${key}`)
    at.forbidden(
      "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound " +
        `claims; changed: ${changed.join(", ")}`,
    )
  }
  const [wanted, present] = [quantityOf(storageOf(spec)) ?? 0, quantityOf(storageOf(stored)) ?? 0]
  const capacity = quantityOf(child(child(old, "status"), "capacity")?.storage) ?? 0
  if (wanted < present && wanted <= capacity)
    at.at("resources", "requests", "storage").forbidden("field can not be less than status.capacity")
  if (spec.volumeMode !== stored.volumeMode) root.at("volumeMode").immutable(spec.volumeMode)
}

/** The members of a driver's spec whose change counts as a new generation. */
const followed = (driver: MutableObject): Fields => {
  const { attachRequired: _attach, volumeLifecycleModes: _modes, ...rest } = child(driver, "spec") ?? {}
  return rest
}

export const kinds: Readonly<Record<string, Kind>> = {
  "/PersistentVolume": {
    // The time of the creation: the server reads its clock for both within the same request.
    newStatus: ({ metadata }) => ({ lastPhaseTransitionTime: metadata.creationTimestamp }),
  },
  "/PersistentVolumeClaim": { prepare: alignSources, checkChange: checkClaimChange },
  "storage.k8s.io/CSIDriver": {
    // New objects have no generation; it is counted from the first change.
    prepare: (object, old) => {
      if (old !== undefined && !isSame(followed(object), followed(old)))
        object.metadata.generation = (number(old.metadata, "generation") ?? 0) + 1
    },
  },
  "storage.k8s.io/CSINode": {
    prepare: (object) => emptyIsNone("drivers")(ensured(object, "spec")),
  },
}
