/**
 * managedFields of real objects, recomputed: every consecutive pair of states in two recordings (controllers,
 * kubectl, kwok, scheduler at work), written by the manager whose entry changed.
 */

import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { applyServerSide } from "../../../src/sandbox/patch/apply/apply-server-side.ts"
import type { JsonObject, JsonObjectDraft, JsonValue } from "../../../src/sandbox/patch/json/json-value.ts"
import type { ManagedFieldsEntry } from "../../../src/sandbox/patch/managed-fields/managed-fields-entry.ts"
import { trackScale } from "../../../src/sandbox/patch/managed-fields/track-scale.ts"
import { trackUpdate } from "../../../src/sandbox/patch/managed-fields/track-update.ts"
import { SchemaCatalogue } from "../../../src/sandbox/schema/catalogue.ts"

interface Change {
  readonly before: JsonObject | undefined
  readonly after: JsonObject
}

const catalogue = new SchemaCatalogue()

const metadataOf = (object: JsonObject): JsonObject => object["metadata"] as JsonObject
const entriesOf = (object: JsonObject): ReadonlyArray<ManagedFieldsEntry> =>
  (metadataOf(object)["managedFields"] ?? []) as unknown as ReadonlyArray<ManagedFieldsEntry>

const typeOf = (object: JsonObject) => {
  const [version = "", group = ""] = String(object["apiVersion"]).split("/").reverse()
  const type = catalogue.of({ group, version, kind: String(object["kind"]) })
  if (type === undefined) throw new Error(`no type of ${object["kind"]}`)
  return type
}

const recorded = (file: string): ReadonlyArray<Change> => {
  const text = readFileSync(new URL(`../../data/${file}.watch`, import.meta.url), "utf8")
  const states = new Map<JsonValue, JsonObject>()
  const changes: Change[] = []
  for (const line of text.split("\n")) {
    if (line === "") continue
    const { type, object } = JSON.parse(line.slice(line.indexOf(" ") + 1)) as { type: string; object: JsonObject }
    if (type === "BOOKMARK" || type === "DELETED") continue
    const uid = metadataOf(object)["uid"] as JsonValue
    changes.push({ before: states.get(uid), after: object })
    states.set(uid, object)
  }
  return changes
}

const textOf = (value: unknown): string => JSON.stringify(value)

/** The entries that this write created or updated, including the scale subresource's (which has no time). */
const writersOf = ({ before, after }: Change): ReadonlyArray<ManagedFieldsEntry> => {
  const known = new Set((before === undefined ? [] : entriesOf(before)).map(textOf))
  const changed = entriesOf(after).filter((entry) => !known.has(textOf(entry)))
  return changed.filter(({ manager, operation, subresource, time, apiVersion, fieldsV1 }) => {
    const old = (before === undefined ? [] : entriesOf(before)).find(
      (entry) =>
        entry.manager === manager &&
        entry.operation === operation &&
        entry.subresource === subresource &&
        entry.apiVersion === apiVersion,
    )
    return old === undefined || old.time !== time || textOf(old.fieldsV1).length <= textOf(fieldsV1).length
  })
}

/** The managedFields that `writer` computes from the previous state. */
const computed = ({ before, after }: Change, writer: ManagedFieldsEntry): ReadonlyArray<ManagedFieldsEntry> => {
  const { manager = "", apiVersion, subresource } = writer
  if (subresource === "scale" && before !== undefined) return trackScale({ before, manager, apiVersion })
  return trackUpdate({
    type: typeOf(after),
    before,
    after: withoutManagedFields(before === undefined ? asCreated(after) : after),
    manager,
    apiVersion,
    operation: "Update",
    time: writer.time ?? "",
    subresource,
  })
}

const withoutManagedFields = (object: JsonObject): JsonObject => {
  const { managedFields: _, ...metadata } = metadataOf(object)
  return { ...object, metadata }
}

/**
 * The client's object with defaults: no status yet, and nothing that admission and the kind's own rules add.
 */
const asCreated = (object: JsonObject): JsonObject => {
  const { status: _, ...rest } = JSON.parse(textOf(object)) as JsonObjectDraft
  if (object["kind"] === "Pod") withoutAdmission(rest["spec"] as JsonObjectDraft, textOf(entriesOf(object)))
  if (object["kind"] === "Job") withoutJobLabels(rest)
  return rest
}

const withoutAdmission = (spec: JsonObjectDraft, fields: string): void => {
  for (const field of ["priority", "preemptionPolicy"]) delete spec[field]
  // A client may name the default account too: only the entry shows which it was.
  if (!fields.includes('"f:serviceAccountName"'))
    for (const field of ["serviceAccount", "serviceAccountName"]) delete spec[field]
  keepItems(spec, "tolerations", (text) => !/node\.kubernetes\.io\/(not-ready|unreachable)/.test(text))
  keepItems(spec, "volumes", (text) => !text.includes("kube-api-access"))
  for (const container of [
    ...(spec["containers"] as JsonObjectDraft[]),
    ...((spec["initContainers"] ?? []) as JsonObjectDraft[]),
  ]) {
    keepItems(container, "volumeMounts", (text) => !text.includes("/var/run/secrets/kubernetes.io/serviceaccount"))
  }
}

const keepItems = (holder: JsonObjectDraft, field: string, keep: (text: string) => boolean): void => {
  const kept = ((holder[field] ?? []) as ReadonlyArray<JsonValue>).filter((item) => keep(textOf(item)))
  if (kept.length === 0) delete holder[field]
  else holder[field] = kept
}

const withoutJobLabels = (job: JsonObjectDraft): void => {
  const spec = job["spec"] as JsonObjectDraft
  delete spec["selector"]
  for (const metadata of [job["metadata"], (spec["template"] as JsonObjectDraft)["metadata"]] as JsonObjectDraft[]) {
    const labels = (metadata["labels"] ?? {}) as JsonObjectDraft
    for (const label of Object.keys(labels)) if (/(^|\/)(controller-uid|job-name)$/.test(label)) delete labels[label]
    if (Object.keys(labels).length === 0) delete metadata["labels"]
  }
}

const answerBody = (name: string): string => {
  const file = readFileSync(new URL(`${name}.http`, import.meta.url), "utf8").replaceAll("\r\n", "\n")
  return file.slice(file.indexOf("\n\n") + 2)
}

const files = ["deployments", "replicasets", "pods", "statefulsets", "daemonsets", "jobs", "cronjobs", "configmaps"]
  .flatMap((kind) => [`recording/${kind}`, `recording-2/${kind}`])
  .filter((file) => !["recording-2/daemonsets", "recording-2/configmaps"].includes(file))

describe("recorded managedFields", () => {
  it.each(files)("%s: all changes of one writer", (file) => {
    let compared = 0
    for (const change of recorded(file)) {
      const writers = writersOf(change)
      // Of two writers within one second it is not known which wrote last; deletions change no entry.
      if (writers.length !== 1) continue
      const [writer] = writers as [ManagedFieldsEntry]
      expect(textOf(computed(change, writer)), `${file} ${textOf(metadataOf(change.after)["name"])}`).toBe(
        textOf(entriesOf(change.after)),
      )
      compared++
    }
    expect(compared).toBeGreaterThan(0)
  })

  it("of an object that an apply created", () => {
    const answer = JSON.parse(answerBody("write-ssa-create")) as JsonObject
    const applied = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "ssa" },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: "ssa" } },
        template: { metadata: { labels: { app: "ssa" } }, spec: { containers: [{ name: "c", image: "x" }] } },
      },
    }
    const { time = "" } = entriesOf(answer)[0] as ManagedFieldsEntry
    const request = { type: typeOf(answer), applied, manager: "me", force: false, apiVersion: "apps/v1", time }
    const created = applyServerSide({ ...request, live: undefined })
    expect("object" in created && textOf(entriesOf(created.object))).toBe(textOf(entriesOf(answer)))

    const refused = applyServerSide({
      ...request,
      live: answer,
      manager: "other",
      applied: { ...applied, spec: { replicas: 2 } },
    })
    const body = JSON.parse(answerBody("write-ssa-conflict")) as JsonObject
    expect(refused).toMatchObject({ code: body["code"], reason: body["reason"], message: body["message"] })
    expect("conflictCauses" in refused && { causes: refused.conflictCauses }).toEqual(body["details"])
  })
})
