/** What a file of expectations says, and when it is not met. */
import { expect, test } from "vitest"
import { checkOf, parseExpectations } from "../../../src/rehearsal/gate/expectations.ts"
import { StateComparison } from "../../../src/rehearsal/gate/state-comparison.ts"
import { podOf } from "../history.ts"

const states = new StateComparison()
for (const [name, image] of [
  ["web", "nginx:1"],
  ["api", "nginx:2"],
] as const)
  states.reach({
    ...{ kind: "v1.Pod", namespace: "shop", name },
    bytes: Buffer.from(JSON.stringify(podOf(name, image))),
  })

const check = (text: string) => checkOf(parseExpectations(text, "expected.yaml"), "expected.yaml")
const unmet = (text: string): ReadonlyArray<string> =>
  check(text)
    .atEnd(states, 1, 1)
    .map(({ text }) => text)
const broken = (text: string): ReadonlyArray<string> =>
  check(text)
    .broken(states, 1, 1)
    .map(({ text }) => text)

test("Objects are there, meet a condition, or are not there", () => {
  expect(unmet("objects: [{ kind: v1.Pod, name: shop/web }, { kind: v1.Pod, name: shop/old, exists: false }]")).toEqual(
    [],
  )
  expect(unmet("objects: [{ kind: v1.Pod, name: shop/old }]")).toEqual(["expected 1 of v1.Pod shop/old: there are 0"])
  expect(
    unmet("objects: [{ kind: v1.Pod, name: shop/web, where: 'spec.containers[*].image == \"nginx:2\"' }]"),
  ).toEqual(['expected 1 of v1.Pod shop/web with spec.containers[*].image == "nginx:2": there are 0'])
  expect(unmet("objects: [{ kind: v1.Pod, name: shop/web, exists: false }]")).toEqual([
    "expected 0 of v1.Pod shop/web: there are 1 (shop/web)",
  ])
})

test("Counts are exact or have bounds", () => {
  expect(unmet("counts: [{ kind: v1.Pod, exactly: 2 }, { kind: v1.Secret, atMost: 0 }]")).toEqual([])
  expect(unmet('counts: [{ kind: v1.Pod, where: metadata.name =~ "^w", atLeast: 2, atMost: 3 }]')).toEqual([
    'expected at least 2 and at most 3 of v1.Pod with metadata.name =~ "^w": there are 1 (shop/web)',
  ])
})

test("Invariants hold for every object of a kind", () => {
  expect(
    broken('invariants: [{ kind: v1.Pod, always: metadata.namespace == "shop", never: exists(spec.nodeName) }]'),
  ).toEqual([])
  expect(broken('invariants: [{ kind: v1.Pod, never: metadata.name == "api" }]')).toEqual([
    'v1.Pod shop/api meets metadata.name == "api", which it never should',
  ])
})

test("A text that is none is refused with its place", () => {
  expect(() => parseExpectations("counts: [{ kind: v1.Pod, exactly: many }]", "e.yaml")).toThrow(/^e\.yaml: .*exactly/s)
  expect(() => parseExpectations("count: []", "e.yaml")).toThrow(/^e\.yaml: .*count/s)
  expect(() => parseExpectations("counts: [", "e.yaml")).toThrow(/^e\.yaml: .*line 1/s)
  expect(() => check('invariants: [{ kind: v1.Pod, always: "a == 1); delete(*" }]')).toThrow(/is no condition/)
})
