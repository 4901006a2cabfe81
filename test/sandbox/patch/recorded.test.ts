/**
 * A real API server's responses to 370 patches of a custom resource and of Deployments: server-side applies of several
 * managers, with and without force, strategic merge patches with every directive, merge and JSON patches. Each is
 * stored with the previous object, so each is a separate case.
 */

import { describe, expect, it } from "vitest"
import { applyServerSide } from "../../../src/sandbox/patch/apply/apply-server-side.ts"
import type { JsonObject, JsonValue } from "../../../src/sandbox/patch/json/json-value.ts"
import { trackUpdate } from "../../../src/sandbox/patch/managed-fields/track-update.ts"
import { ApplyConflict } from "../../../src/sandbox/patch/patch-failure.ts"
import {
  entriesOf,
  expectRefusal,
  metadataOf,
  missing,
  patched,
  recordedSteps,
  type Step,
  superfluous,
  textOf,
  timeOf,
  typeOf,
} from "./recorded-steps.ts"

const steps = recordedSteps("stored-writes")

const apply = (step: Step) =>
  applyServerSide({
    type: typeOf(step),
    live: step.before ?? undefined,
    applied: step.patch,
    manager: step.query.fieldManager,
    force: step.query.force === "true",
    apiVersion: step.kind === "Thing" ? "patchprobe.example.com/v1" : "apps/v1",
    time: timeOf(step.answer),
    resetFields: step.kind === "Thing" ? [] : [["status"]],
  })

const applies = steps.filter(({ patchType }) => patchType === "apply-patch+yaml")
const updates = steps.filter(({ patchType }) => patchType !== "apply-patch+yaml")
const versionOf = (object: JsonObject): JsonValue | undefined => metadataOf(object).resourceVersion
const withoutTimes = (entries: JsonValue): JsonValue =>
  JSON.parse(JSON.stringify(entries, (key, value) => (key === "time" ? undefined : value)))
const title = (step: Step): string =>
  `${steps.indexOf(step)}: ${step.kind} ${step.query.fieldManager} ${JSON.stringify(step.patch).slice(0, 160)}`

describe("recorded server-side applies", () => {
  it.each(applies.filter(({ status }) => status < 300).map((step) => [title(step), step] as const))("%s", (_, step) => {
    const answer = apply(step)
    if (!("object" in answer)) throw answer
    expect(missing(answer.object, step.answer)).toEqual([])
    expect(superfluous(step, answer.object.spec, step.answer.spec)).toEqual([])
    // What changes nothing is not stored, with its new times neither.
    const isStored = step.before?.metadata === undefined || versionOf(step.before) !== versionOf(step.answer)
    const shown = (entries: JsonValue): string => textOf(step, isStored ? entries : withoutTimes(entries))
    expect(shown(entriesOf(answer.object))).toBe(shown(entriesOf(step.answer)))
  })

  it.each(applies.filter(({ status }) => status === 409).map((step) => [title(step), step] as const))(
    "conflict %s",
    (_, step) => {
      const answer = apply(step)
      expect(answer).toBeInstanceOf(ApplyConflict)
      const conflict = answer as ApplyConflict
      const { causes } = step.answer.details as { causes: Array<{ message: string }> }
      const byManager = (list: ReadonlyArray<{ message: string }>) =>
        [...list].sort((a, b) => (a.message < b.message ? -1 : a.message > b.message ? 1 : 0))
      // The server goes through managers in random order; its message has them sorted.
      expect(byManager(conflict.conflictCauses)).toEqual(byManager(causes))
      expect(conflict).toMatchObject({ message: step.answer.message, code: 409, reason: "Conflict" })
    },
  )
})

describe("recorded updates", () => {
  it.each(updates.filter(({ status }) => status < 300).map((step) => [title(step), step] as const))("%s", (_, step) => {
    const after = patched(step)
    expect(missing(after, step.answer)).toEqual([])
    expect(superfluous(step, after.spec, step.answer.spec)).toEqual([])
    const { managedFields } = metadataOf(after)
    const entries = trackUpdate({
      type: typeOf(step),
      before: step.before ?? undefined,
      after: { ...step.answer, metadata: { ...metadataOf(step.answer), managedFields: managedFields ?? [] } },
      manager: step.query.fieldManager,
      apiVersion: step.kind === "Thing" ? "patchprobe.example.com/v1" : "apps/v1",
      operation: "Update",
      time: timeOf(step.answer),
      resetFields: step.kind === "Thing" ? [] : [["status"]],
    })
    expect(entries).toEqual(entriesOf(step.answer))
    expect(textOf(step, entries)).toBe(textOf(step, entriesOf(step.answer)))
  })

  it.each(updates.filter(({ status }) => status >= 400 && status !== 404).map((step) => [title(step), step] as const))(
    "refusal %s",
    (_, step) => {
      expectRefusal(step)
    },
  )
})
