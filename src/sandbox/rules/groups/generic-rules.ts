/** The rules of a kind, made from its description: what the server's generic registry does for every kind. */

import type { Errors } from "../../../apiserver/answers/field-error.ts"
import { subdomainComplaints } from "../../../kube/names.ts"
import { compiled, type Defaulting } from "../default-table.ts"
import { child, isAbsent, isSame } from "../fields.ts"
import type { Kind } from "../kind.ts"
import type { Fields, KindRules, MutableObject } from "../kind-rules.ts"
import { checkCommonUpdate, checkFinalizersKnown, checkMetadata } from "../values/object-metadata.ts"

interface GenericOptions {
  readonly namespaced: boolean
  /** Objects of a CustomResourceDefinition: looser with finalizers, stricter with status writes. */
  readonly custom: boolean
}

export const rulesFrom = (kind: Kind, { namespaced, custom }: GenericOptions): KindRules => {
  const fill = compiled(kind.defaults ?? {})
  const format = kind.name ?? subdomainComplaints

  return {
    setDefaults: kind.statusOmits === undefined ? fill : withoutZeros(fill, kind.statusOmits),

    prepareForCreate(object) {
      const { metadata } = object
      // A client's values for the server's own fields are ignored.
      delete metadata.deletionTimestamp
      delete metadata.deletionGracePeriodSeconds
      if (kind.newStatus !== undefined) object.status = kind.newStatus(object)
      // Kinds without a generation keep the client's.
      if (kind.generation !== undefined) metadata.generation = 1
      else if (metadata.generation === 0) delete metadata.generation
      kind.prepareCreate?.(object)
    },

    prepareForUpdate(object, old, subresource) {
      keepSystemMetadata(object.metadata, old.metadata)
      if (subresource === "status") {
        keepAllButStatus(object, old)
        for (const key of kind.statusKeeps ?? []) keep(object.metadata, old.metadata, key)
        kind.prepareStatus?.(object, old)
        return
      }
      if (kind.newStatus !== undefined || kind.keepsStatus === true) keep(object, old, "status")
      kind.prepareUpdate?.(object, old)
      if (kind.generation?.some((path) => differs(object, old, path)) === true)
        object.metadata.generation = Number(old.metadata.generation ?? 0) + 1
    },

    settleUpdate(object, old, subresource) {
      if (subresource === "status") kind.settleStatus?.(object, old)
      else kind.settleUpdate?.(object, old)
    },

    readBack: (object) => kind.readBack?.(object) ?? false,

    validate(object) {
      const errors: Errors = []
      checkMetadata(object.metadata, namespaced, format, errors)
      if (!custom) checkFinalizersKnown(object.metadata, errors)
      kind.check?.(object, errors)
      kind.checkNew?.(object, errors)
      return errors
    },

    validateUpdate(object, old, subresource) {
      const errors: Errors = []
      checkCommonUpdate(object.metadata, old.metadata, namespaced, errors)
      if (!custom) checkFinalizersKnown(object.metadata, errors)
      if (subresource === "status") {
        kind.checkStatus?.(object, old, errors)
        return errors
      }
      kind.check?.(object, errors)
      kind.checkChange?.(object, old, errors)
      return errors
    },
  }
}

const keep = (object: Fields, old: Fields, key: string): void => {
  if (isAbsent(old[key])) delete object[key]
  else object[key] = old[key]
}

/** A uid that the client did send stays, so that a wrong one is detected. */
const keepSystemMetadata = (metadata: Fields, old: Fields): void => {
  delete metadata.selfLink
  keep(metadata, old, "generation")
  keep(metadata, old, "creationTimestamp")
  if (isAbsent(metadata.uid) || metadata.uid === "") keep(metadata, old, "uid")
  // An update may omit the deletionTimestamp of an object that is being deleted, but may not add one to another.
  if (!isAbsent(old.deletionTimestamp) || isAbsent(metadata.deletionTimestamp)) keep(metadata, old, "deletionTimestamp")
  if (isAbsent(metadata.deletionGracePeriodSeconds)) keep(metadata, old, "deletionGracePeriodSeconds")
}

const withoutZeros =
  (fill: Defaulting, counters: ReadonlyArray<string>): Defaulting =>
  (object) => {
    fill(object)
    const status = child(object, "status")
    if (status !== undefined) for (const key of counters) if (status[key] === 0) delete status[key]
  }

const envelope = new Set(["apiVersion", "kind", "metadata", "status"])

const keepAllButStatus = (object: MutableObject, old: MutableObject): void => {
  for (const key of Object.keys(object)) if (!envelope.has(key)) delete object[key]
  for (const key of Object.keys(old)) if (!envelope.has(key)) object[key] = old[key]
}

const differs = (object: Fields, old: Fields, path: string): boolean => {
  if (path === "*")
    return [...Object.keys(object), ...Object.keys(old)].some((key) => !envelope.has(key) && differs(object, old, key))
  const dot = path.indexOf(".")
  if (dot === -1) return !isSame(object[path], old[path])
  const [parent, key] = [path.slice(0, dot), path.slice(dot + 1)]
  return !isSame(child(object, parent)?.[key], child(old, parent)?.[key])
}
