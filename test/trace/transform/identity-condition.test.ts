/** What is certain of an object of which only the identity is known. */
import fc from "fast-check"
import { expect, test } from "vitest"
import type { JsonObject } from "../../../src/trace/json/exact-json.ts"
import { parseProgram } from "../../../src/trace/transform/language/parse-program.ts"
import { runnerOf } from "../../../src/trace/transform/run-program.ts"

const start = 1_710_000_000_000_000
const identity: JsonObject = { apiVersion: "v1", kind: "Pod", metadata: { namespace: "shop", name: "web" } }

const isDeleted = (object: JsonObject, condition: string, given: "state" | "identity"): boolean =>
  runnerOf(parseProgram(`delete(${condition});`), start)(object, start, () => undefined, 0, given) === undefined

test.each([
  ['kind == "Pod"', true],
  ['metadata.name =~ "^w" && metadata.namespace in ["shop"]', true],
  ['$n := metadata.name | $n == "web"', true],
  ["@t <= 1s", true],
  ["!exists(metadata.name)", false],
  ['status.phase == "Failed"', false],
  ["!exists(spec.nodeName)", false],
  ['!(metadata.uid == "u")', false],
  ['!(status.phase == "Running")', false],
  ['kind == "Pod" && !exists(spec.nodeName)', false],
  ['kind == "Pod" || status.phase == "Failed"', true],
  ['!(kind == "Job" && status.phase == "Failed")', true],
  ["metadata.name == metadata.labels.app", false],
  ["$c := spec.containers[*] | exists($c.image)", false],
])("%s is certain of a Pod: %s", (condition, isCertain) => {
  expect(isDeleted(identity, condition, "identity")).toBe(isCertain)
})

const leaf = fc.constantFrom(
  ...[
    'kind == "Pod"',
    'metadata.name != "web"',
    "exists(metadata.namespace)",
    "@t > 0s",
    "metadata.name == spec.nodeName",
  ],
  ...["exists(spec.nodeName)", "!exists(status)", 'status.phase == "Failed"', "spec.replicas > 1", "exists(metadata)"],
)
const { condition } = fc.letrec<{ condition: string }>((tie) => ({
  condition: fc.oneof(
    { depthSize: "small" },
    leaf,
    fc.tuple(tie("condition"), fc.constantFrom("&&", "||"), tie("condition")).map((parts) => `(${parts.join(" ")})`),
    tie("condition").map((part) => `!(${part})`),
  ),
}))
const state = fc.record(
  {
    spec: fc.record({ nodeName: fc.constantFrom("web", "n"), replicas: fc.nat(3) }, { requiredKeys: [] }),
    status: fc.record({ phase: fc.constantFrom("Failed", "Running") }),
  },
  { requiredKeys: [] },
)

test("what is certain is so in every state", () => {
  fc.assert(
    fc.property(condition, state, (text, body) => {
      if (isDeleted(identity, text, "identity")) expect(isDeleted({ ...identity, ...body }, text, "state")).toBe(true)
    }),
  )
})
