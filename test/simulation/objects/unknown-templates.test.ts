import { expect, test } from "vitest"
import { UnknownTemplates } from "../../../src/simulation/replay/changes-to-writes.ts"
import type { JsonObject } from "../../../src/trace/index.ts"

const training = "ml.example.com/v1.Training"
const template = { metadata: {}, spec: { containers: [{ name: "a", image: "a" }] } }

const placeIn = (object: JsonObject, gvk = training): string | undefined => {
  const templates = new UnknownTemplates()
  templates.search(gvk, object)
  return / at "(.*?)",/.exec(templates.warnings.join())?.[1]
}

test("a pod template in a custom kind is found wherever it is, and named by its pointer", () => {
  expect(placeIn({ spec: { template } })).toBe("/spec/template")
  expect(placeIn({ spec: { roles: [{}, { "a/b~": template }] } })).toBe("/spec/roles/*/a~1b~0")
  expect(placeIn({ template })).toBe("/template")
  expect(placeIn({ spec: template.spec })).toBe("")
})

test("what only looks a little like one is none, and neither is a status", () => {
  expect(placeIn({ spec: { template: { spec: { containers: [] } } } })).toBeUndefined()
  expect(placeIn({ spec: { template: { spec: { containers: ["a"] } } } })).toBeUndefined()
  expect(placeIn({ spec: { containers: [{ name: "a" }] } })).toBeUndefined()
  expect(placeIn({ status: { template }, metadata: { template } })).toBeUndefined()
})

test("built-in kinds are not searched, and of other kinds only the first objects", () => {
  expect(placeIn({ spec: { template } }, "batch/v1.Job")).toBeUndefined()
  const templates = new UnknownTemplates()
  for (let index = 0; index < 20; index++) templates.search(training, { spec: {} })
  templates.search(training, { spec: { template } })
  expect(templates.warnings).toEqual([])
})
