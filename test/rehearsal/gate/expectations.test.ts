/** What a file of expectations says, and when it is not met. */
import { expect, test } from "vitest"
import { ExpectationCheck, parseExpectations } from "../../../src/rehearsal/gate/expectations.ts"
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

const check = (text: string): ExpectationCheck => {
  const read = new ExpectationCheck(parseExpectations(text, "expected.yaml"), "expected.yaml")
  read.reach(1_000_000)
  return read
}
const unmet = (text: string): ReadonlyArray<string> =>
  check(text)
    .unmet(states)
    .map(({ text }) => text)
const broken = (text: string): ReadonlyArray<string> =>
  check(text)
    .broken(states)
    .map(({ text }) => text)

test("Objects are there, meet a condition, or are not there", () => {
  expect(unmet("objects: [{ kind: v1.Pod, name: shop/web }, { kind: v1.Pod, name: shop/old, exists: false }]")).toEqual(
    [],
  )
  expect(unmet("objects: [{ kind: v1.Pod, name: shop/old }]")).toEqual([
    "expected there to be v1.Pod shop/old: there is none",
  ])
  expect(
    unmet("objects: [{ kind: v1.Pod, name: shop/web, where: 'spec.containers[*].image == \"nginx:2\"' }]"),
  ).toEqual(['expected there to be v1.Pod shop/web with spec.containers[*].image == "nginx:2": it does not meet that'])
  expect(unmet("objects: [{ kind: v1.Pod, name: shop/web, exists: false }]")).toEqual([
    "expected no v1.Pod shop/web: there is one",
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
