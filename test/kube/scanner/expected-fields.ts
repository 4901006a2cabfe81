/** What a scan must find, according to `JSON.parse`. */

import { expect } from "vitest"
import type { ScannedObject } from "../../../src/kube/scanner/object/scanned-object.ts"

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

const member = (value: Json | undefined, key: string): Json | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) && Object.hasOwn(value, key)
    ? value[key]
    : undefined

/** The object after `metadata.managedFields` is removed. */
const withoutManagedFields = (value: Json): Json => {
  const copy = structuredClone(value)
  const metadata = member(copy, "metadata")
  if (typeof metadata === "object" && metadata !== null && !Array.isArray(metadata)) delete metadata.managedFields
  return copy
}

/** Fields of a scan as values. */
export const fieldsOf = (bytes: Buffer, start: number, end: number, scanned: ScannedObject) => {
  const text = (from: number, to: number): string | undefined =>
    to === 0 ? undefined : bytes.toString("utf8", from, to)
  const owners = text(scanned.ownerReferencesStart, scanned.ownerReferencesEnd)
  const { managedFieldsStart, managedFieldsEnd } = scanned
  const cut =
    managedFieldsEnd === 0
      ? bytes.toString("utf8", start, end)
      : bytes.toString("utf8", start, managedFieldsStart) + bytes.toString("utf8", managedFieldsEnd, end)
  return {
    name: text(scanned.nameStart, scanned.nameEnd),
    namespace: text(scanned.namespaceStart, scanned.namespaceEnd),
    uid: text(scanned.uidStart, scanned.uidEnd),
    resourceVersion: text(scanned.resourceVersionStart, scanned.resourceVersionEnd),
    apiVersion: text(scanned.apiVersionStart, scanned.apiVersionEnd),
    kind: text(scanned.kindStart, scanned.kindEnd),
    ownerReferences: owners === undefined ? undefined : (JSON.parse(owners) as Json),
    hasManagedFields: managedFieldsEnd > managedFieldsStart,
    withoutManagedFields: JSON.parse(cut) as Json,
    initialEventsEnd: scanned.initialEventsEnd,
  }
}

/** Lone surrogates do not survive UTF-8, neither in our spans nor anywhere else. */
const throughUtf8 = (value: Json | undefined): Json | undefined =>
  typeof value === "string" ? Buffer.from(value).toString() : (value ?? undefined)

/** Compares the fields of a scan of [start, end) with what `JSON.parse` returns for the same bytes. */
export const expectFields = (bytes: Buffer, start: number, end: number, scanned: ScannedObject, value: Json): void => {
  const metadata = member(value, "metadata")
  expect(fieldsOf(bytes, start, end, scanned)).toEqual({
    name: throughUtf8(member(metadata, "name")),
    namespace: throughUtf8(member(metadata, "namespace")),
    uid: throughUtf8(member(metadata, "uid")),
    resourceVersion: throughUtf8(member(metadata, "resourceVersion")),
    apiVersion: throughUtf8(member(value, "apiVersion")),
    kind: throughUtf8(member(value, "kind")),
    ownerReferences: member(metadata, "ownerReferences") ?? undefined,
    hasManagedFields: member(metadata, "managedFields") !== undefined,
    withoutManagedFields: withoutManagedFields(value),
    initialEventsEnd: member(member(metadata, "annotations"), "k8s.io/initial-events-end") === "true",
  })
}
