/** The rows of storage: volumes, claims, classes, drivers. */

import { list, member, scalar, text } from "../../kinds/json-member.ts"
import { ageOf } from "./age.ts"
import type { Cells } from "./printer.ts"
import { orElse } from "./selector-text.ts"

const nameOf = (object: unknown): string => text(object, "metadata", "name")

const isDeleted = (object: unknown): boolean => member(object, "metadata", "deletionTimestamp") !== undefined

const shortModes: Readonly<Record<string, string>> = {
  ReadWriteOnce: "RWO",
  ReadOnlyMany: "ROX",
  ReadWriteMany: "RWX",
  ReadWriteOncePod: "RWOP",
}

/** In this order, whatever the input's order. */
const modesText = (modes: ReadonlyArray<unknown>): string =>
  Object.entries(shortModes)
    .filter(([mode]) => modes.includes(mode))
    .map(([, short]) => short)
    .join(",")

/** The annotation that predates the field still counts and takes precedence. */
const storageClassOf = (object: unknown): string =>
  scalar(object, "metadata", "annotations", "volume.beta.kubernetes.io/storage-class") ??
  text(object, "spec", "storageClassName")

export const persistentVolumeCells: Cells = (object, now) => {
  const claim = member(object, "spec", "claimRef")
  return [
    nameOf(object),
    scalar(object, "spec", "capacity", "storage") ?? "0",
    modesText(list(object, "spec", "accessModes")),
    text(object, "spec", "persistentVolumeReclaimPolicy"),
    isDeleted(object) ? "Terminating" : text(object, "status", "phase"),
    claim === undefined ? "" : `${text(claim, "namespace")}/${text(claim, "name")}`,
    storageClassOf(object),
    scalar(object, "spec", "volumeAttributesClassName") ?? "<unset>",
    text(object, "status", "reason"),
    ageOf(object, now),
    scalar(object, "spec", "volumeMode") ?? "<unset>",
  ]
}

export const persistentVolumeClaimCells: Cells = (object, now) => {
  const volume = text(object, "spec", "volumeName")
  return [
    nameOf(object),
    isDeleted(object) ? "Terminating" : text(object, "status", "phase"),
    volume,
    volume === "" ? "" : (scalar(object, "status", "capacity", "storage") ?? "0"),
    volume === "" ? "" : modesText(list(object, "status", "accessModes")),
    storageClassOf(object),
    scalar(object, "spec", "volumeAttributesClassName") ?? "<unset>",
    ageOf(object, now),
    scalar(object, "spec", "volumeMode") ?? "<unset>",
  ]
}

const defaultClass = ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"]

export const storageClassCells: Cells = (object, now) => {
  const isDefault = defaultClass.some((key) => text(object, "metadata", "annotations", key) === "true")
  return [
    isDefault ? `${nameOf(object)} (default)` : nameOf(object),
    text(object, "provisioner"),
    scalar(object, "reclaimPolicy") ?? "Delete",
    scalar(object, "volumeBindingMode") ?? "Immediate",
    member(object, "allowVolumeExpansion") === true,
    ageOf(object, now),
  ]
}

export const volumeAttributesClassCells: Cells = (object, now) => [
  nameOf(object),
  text(object, "driverName"),
  ageOf(object, now),
]

export const volumeAttachmentCells: Cells = (object, now) => [
  nameOf(object),
  text(object, "spec", "attacher"),
  text(object, "spec", "source", "persistentVolumeName"),
  text(object, "spec", "nodeName"),
  member(object, "status", "attached") === true,
  ageOf(object, now),
]

export const csiDriverCells: Cells = (object, now) => {
  const requests = member(object, "spec", "tokenRequests")
  const audiences = list(object, "spec", "tokenRequests").map((request) => text(request, "audience"))
  return [
    nameOf(object),
    member(object, "spec", "attachRequired") !== false,
    member(object, "spec", "podInfoOnMount") === true,
    member(object, "spec", "storageCapacity") === true,
    requests === undefined ? "<unset>" : audiences.join(","),
    member(object, "spec", "requiresRepublish") === true,
    orElse(list(object, "spec", "volumeLifecycleModes").map(String).join(","), "<none>"),
    ageOf(object, now),
  ]
}

export const csiNodeCells: Cells = (object, now) => [
  nameOf(object),
  list(object, "spec", "drivers").length,
  ageOf(object, now),
]
