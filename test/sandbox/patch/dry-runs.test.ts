/**
 * A real API server's results for 425 patches sent as dry runs: JSON patches and merge patches with every unusual path
 * and value of an object without a schema, and strategic merge patches of a Deployment with lists in every order.
 */

import { describe, expect, it } from "vitest"
import type { JsonObject } from "../../../src/sandbox/patch/json/json-value.ts"
import { expectRefusal, metadataOf, missing, patched, recordedSteps, type Step, superfluous } from "./recorded-steps.ts"

const steps = recordedSteps("dry-runs")

const freeOf = (object: JsonObject): unknown => (object.spec as JsonObject).free

/** The patched object was refused, not the patch: by the kind's rules, or because it does not decode. */
const isRefusedLater = ({ answer }: Step): boolean =>
  answer.reason === "Invalid" && !String(answer.message).startsWith("the server rejected")

const title = (step: Step): string =>
  `${steps.indexOf(step)}: ${step.patchType} ${JSON.stringify(step.patch).slice(0, 200)}`
const cases = (keep: (step: Step) => boolean) => steps.filter(keep).map((step) => [title(step), step] as const)

describe("patches that a server took", () => {
  it.each(cases(({ status, kind }) => status === 200 && kind === "Thing"))("%s", (_, step) => {
    const given = JSON.stringify([step.before, step.patch])
    expect(freeOf(patched(step))).toEqual(freeOf(step.answer))
    expect(JSON.stringify([step.before, step.patch])).toBe(given)
  })

  it.each(cases(({ status, kind }) => status === 200 && kind === "Deployment"))("%s", (_, step) => {
    const given = JSON.stringify([step.before, step.patch])
    const after = patched(step)
    expect(missing(after, step.answer)).toEqual([])
    expect(superfluous(step, after.spec, step.answer.spec)).toEqual([])
    const { finalizers, annotations } = metadataOf(step.answer)
    expect({ finalizers: [], ...metadataOf(after) }).toMatchObject({ finalizers: finalizers ?? [] })
    expect(Object.keys((metadataOf(after).annotations ?? {}) as JsonObject)).toEqual(Object.keys(annotations ?? {}))
    expect(JSON.stringify([step.before, step.patch])).toBe(given)
  })
})

describe("patches that a server refused", () => {
  it.each(cases((step) => step.status >= 400 && !isRefusedLater(step)))("%s", (_, step) => {
    expectRefusal(step)
  })

  it.each(cases((step) => step.status >= 400 && isRefusedLater(step)))("later: %s", (_, step) => {
    expect(() => patched(step)).not.toThrow()
  })
})
