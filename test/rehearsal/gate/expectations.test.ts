/** What a file of expectations says, and when it is not met. */
import { describe, expect, test } from "vitest"
import { simplePods } from "../../../examples/host/typescript/simplepod-controller.ts"
import { expectRehearsal } from "../../../src/library/rehearsal.ts"
import { checkOf, parseExpectations } from "../../../src/rehearsal/gate/expectations.ts"
import { StateComparison } from "../../../src/rehearsal/gate/state-comparison.ts"
import { podOf, simplePodDefinition, traceOf } from "../history.ts"

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

describe("Refused, with its place in the file and what to write, is", () => {
  test.each([
    [
      "counts: [{ kind: v1.Pod, exactly: 1 }, { kind: Deployment, atMost: 3 }]",
      /^e: counts\[1\]\.kind is "Deployment"\. .* such as apps\/v1\.Deployment$/,
    ],
    ["invariants: [{ kind: v1.Pod }]", /^e: invariants\[0\] has no condition\. Write always or never$/],
    ["counts: [{ kind: v1.Pod, atLeast: 0 }]", /^e: counts\[0\] holds for any number\. Write exactly, atMost,/],
    [
      "counts: [{ kind: events.k8s.io/v1.Event, atMost: 3 }]",
      /^e: counts\[0\]\.kind is events\.k8s\.io\/v1\.Event\. Of Events and Leases nothing/,
    ],
    [
      "invariants: [{ kind: coordination.k8s.io/v1.Lease, never: exists(spec) }]",
      /^e: invariants\[0\]\.kind is .* nothing can be expected/,
    ],
    ["ignore: [{ kind: Pod }]", /^e: ignore\[0\]\.kind is "Pod"\. .* such as v1\.Pod$/],
    ["ignore: [{}]", /^e: ignore\[0\] is empty\. .*recorded: ignore$/],
    [
      "conuts: []",
      /^e: conuts is no key here; did you mean counts\? Allowed are objects, counts, invariants, ignore, recorded$/,
    ],
    [
      "counts: [{ kind: v1.Pod, exatly: 1 }]",
      /^e: counts\[0\]\.exatly is no key here; did you mean exactly\? Allowed are kind, where, exactly, atLeast, atMost$/,
    ],
  ])("%s", (text, message) => {
    expect(() => checkOf(parseExpectations(text, "e"), "e")).toThrow(message)
  })
})

test("A kind that is not built in, and of which the trace has nothing, is refused after the first rehearsal", async () => {
  const history = [
    { at: 0, isSnapshot: true, object: simplePodDefinition },
    { at: 1, object: podOf("web", "nginx") },
  ]
  const expecting = (kind: string) =>
    expectRehearsal(() => simplePods, traceOf(history), {
      expect: { recorded: "ignore", counts: [{ kind, atMost: 9 }] },
    })
  await expect(expecting("v1.Pood")).rejects.toThrow(
    /^expect: counts\[0\]\.kind is v1\.Pood, of which the trace has neither .*; did you mean v1\.Pod\?$/,
  )
  await expect(expecting("v1.Deployment")).rejects.toThrow(/did you mean apps\/v1\.Deployment\?$/)
  await expect(expecting("v1.SimplePod")).rejects.toThrow(/did you mean slinky\.dev\/v1\.SimplePod\?$/)
  for (const kind of ["slinky.dev/v2.SimplePod", "apps/v1.Deployment", "v1.Pod"])
    await expect(expecting(kind)).resolves.toHaveLength(1)
})
