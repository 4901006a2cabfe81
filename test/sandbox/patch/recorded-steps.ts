/**
 * Patches that were sent to a real API server (Kubernetes 1.34.4), its responses, and their comparison with ours.
 */

import { readFileSync } from "node:fs"
import { zstdDecompressSync } from "node:zlib"
import { expect } from "vitest"
import { applyJsonPatch } from "../../../src/sandbox/patch/json/json-patch.ts"
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../src/sandbox/patch/json/json-value.ts"
import type { PatchError } from "../../../src/sandbox/patch/patch-failure.ts"
import { SchemaCatalogue } from "../../../src/sandbox/schema/catalogue.ts"
import { applyMergePatch, applyStrategicMergePatch } from "../../../src/sandbox/writes/request/patched-document.ts"
import { thingType } from "./thing-type.ts"

export interface Step {
  readonly kind: "Thing" | "Deployment"
  readonly patchType: string
  readonly query: { readonly fieldManager: string; readonly force?: string }
  readonly patch: JsonObject
  readonly before: JsonObject | null
  readonly status: number
  readonly answer: JsonObject
}

/**
 * `stored-writes`: patches that were stored, one after the other. `dry-runs`: patches of two objects, each on its own.
 */
export const recordedSteps = (name: "stored-writes" | "dry-runs"): ReadonlyArray<Step> =>
  JSON.parse(zstdDecompressSync(readFileSync(new URL(`${name}.json.zst`, import.meta.url))).toString()) as Step[]

const deploymentType = new SchemaCatalogue().of({ group: "apps", version: "v1", kind: "Deployment" })

export const typeOf = (step: Step) => {
  const type = step.kind === "Thing" ? thingType : deploymentType
  if (type === undefined) throw new Error("no type of Deployments")
  return type
}

export const metadataOf = (object: JsonObject): JsonObject => object.metadata as JsonObject
export const entriesOf = (object: JsonObject): JsonValue => metadataOf(object).managedFields ?? []

/** Custom resources are written with all keys in alphabetical order, so only built-in kinds show the order of a set. */
export const textOf = (step: Step, entries: unknown): string =>
  JSON.stringify(step.kind === "Thing" ? sorted(entries) : entries)

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== "object" || value === null) return value
  return Object.entries(value)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, member]) => [key, sorted(member)])
}

/** When the server wrote: the latest time of an entry. */
export const timeOf = (object: JsonObject): string =>
  (entriesOf(object) as unknown as Array<{ time?: string }>)
    .map(({ time }) => time ?? "")
    .sort()
    .at(-1) ?? ""

const written = ["uid", "resourceVersion", "creationTimestamp", "generation", "namespace", "managedFields"]

/** Everything of `ours` is in `theirs`, with lists in the same order; the rest of `theirs` are defaults. */
export const missing = (ours: JsonValue | undefined, theirs: JsonValue | undefined, path = ""): string[] => {
  if (ours === null || ours === undefined)
    return theirs === undefined || theirs === null ? [] : [`${path} should be absent`]
  if (isJsonObject(ours)) {
    // Go omits empty values where the field is declared so.
    if (Object.keys(ours).length === 0 && theirs === undefined) return []
    if (!isJsonObject(theirs)) return [`${path}: ${JSON.stringify(ours)}`]
    return (
      Object.keys(ours)
        .filter((key) => path !== "/metadata" || !written.includes(key))
        // Directives in items that are new are unknown fields, which decoding drops.
        .filter((key) => !key.startsWith("$"))
        .flatMap((key) => missing(ours[key], theirs[key], `${path}/${key}`))
    )
  }
  if (isJsonArray(ours)) {
    if (ours.length === 0 && theirs === undefined) return []
    if (!isJsonArray(theirs) || theirs.length !== ours.length) return [`${path}: ${JSON.stringify(ours)}`]
    return ours.flatMap((item, index) => missing(item, theirs[index], `${path}/${index}`))
  }
  return ours === theirs ? [] : [`${path}: ${JSON.stringify(ours)}`]
}

/** No field of the response is missing in ours, where ours has a value to descend into. */
export const superfluous = (step: Step, ours: JsonValue | undefined, theirs: JsonValue | undefined): string[] =>
  step.kind === "Thing" ? missing(withoutDefaults(theirs), ours) : []

/** Without the one default that the custom resource has. */
const withoutDefaults = (value: JsonValue | undefined): JsonValue | undefined =>
  JSON.parse(JSON.stringify(value), (key, member) => (key === "protocol" && member === "TCP" ? undefined : member))

export const patched = (step: Step): JsonObject => {
  const before = step.before ?? {}
  switch (step.patchType) {
    case "json-patch+json":
      return applyJsonPatch(before, step.patch) as JsonObject
    case "merge-patch+json":
      return applyMergePatch(before, step.patch) as JsonObject
    default:
      return applyStrategicMergePatch(before, step.patch, typeOf(step)) as JsonObject
  }
}

/** The patch is refused with the code and the reason of the real server. */
export const expectRefusal = (step: Step): void =>
  expect(() => patched(step)).toThrow(
    expect.toSatisfy(
      (failure: PatchError) => failure.code === step.status && failure.reason === step.answer.reason,
      `${step.status} ${step.answer.reason}`,
    ),
  )
