/**
 * managedFields of new objects of many built-in kinds, as a real API server computed them: the zero value of an
 * object differs from kind to kind, and only the schema states it.
 */

import { readFileSync } from "node:fs"
import { zstdDecompressSync } from "node:zlib"
import { expect, it } from "vitest"
import type { GroupVersionKind } from "../../../src/kube/offline.ts"
import type { JsonObject } from "../../../src/sandbox/patch/json/json-value.ts"
import type { ManagedFields } from "../../../src/sandbox/patch/managed-fields/managed-fields-entry.ts"
import { trackUpdate } from "../../../src/sandbox/patch/managed-fields/track-update.ts"
import { SchemaCatalogue } from "../../../src/sandbox/schema/catalogue.ts"

interface Creation {
  readonly gvk: GroupVersionKind
  readonly sent: JsonObject
  readonly answer: JsonObject
}

const creations = JSON.parse(
  zstdDecompressSync(readFileSync(new URL("creations.json.zst", import.meta.url))).toString(),
) as Creation[]
const catalogue = new SchemaCatalogue()

/** What the kind's own rules add later: first states, finalizers, addresses. */
const later: Readonly<Record<string, ReadonlyArray<string>>> = {
  PersistentVolumeClaim: ["status"],
  PersistentVolume: ["status"],
  Namespace: ["status", "spec"],
  CustomResourceDefinition: ["status"],
  Service: ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"],
}

const without = (names: ReadonlyArray<string>, object: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))

const asTracked = (kind: string, answer: JsonObject): JsonObject => {
  const { metadata, spec, ...rest } = answer
  const names = later[kind] ?? []
  return without(names, {
    ...rest,
    metadata: without(["managedFields", "finalizers"], metadata as JsonObject),
    ...(spec === undefined ? {} : { spec: without(names, spec as JsonObject) }),
  })
}

it.each(
  creations.map(
    (creation) => [`${creation.gvk.kind} ${creation.gvk.group}/${creation.gvk.version}`, creation] as const,
  ),
)("%s", (_, { gvk, sent, answer }) => {
  const type = catalogue.of(gvk)
  if (type === undefined) throw new Error("no type")
  const { managedFields } = answer.metadata as { managedFields: ManagedFields }
  const entries = trackUpdate({
    type,
    before: undefined,
    after: asTracked(gvk.kind, answer),
    manager: "c",
    apiVersion: String(sent.apiVersion),
    operation: "Update",
    time: managedFields[0]?.time ?? "",
  })
  expect(JSON.stringify(entries)).toBe(JSON.stringify(managedFields))
})
