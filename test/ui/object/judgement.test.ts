/** What the panes beside the time line say of changes: why, numbers, groups of findings, differences of texts. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { Finding } from "../../../src/timeline/index.ts"
import { textParts } from "../../../src/ui/object/field-text.ts"
import { groupsOf, stemOf } from "../../../src/ui/object/finding-groups.ts"
import { markedLines } from "../../../src/ui/object/marked-lines.ts"
import { numbersOf } from "../../../src/ui/object/numbers.ts"
import { factsOf, sentences } from "../../../src/ui/object/why.ts"
import { yamlLines } from "../../../src/ui/object/yaml.ts"
import type { FieldChange, ObjectChange } from "../../../src/ui/source/source.ts"

const second = 1_000_000
const pod = { gvk: "v1.Pod", namespace: "shop", name: "web-6d5f8c9b7-x2x4z", uid: "p" }
const deployment = { gvk: "apps/v1.Deployment", namespace: "shop", name: "web", uid: "d" }

const change = (time: number, more: Partial<ObjectChange>): ObjectChange => ({
  ...{ type: "changed", object: pod, resourceVersion: String(time), time, sequence: time },
  ...{ managers: [], differences: [], hasMoreDifferences: false, ...more },
})

const killed = { exitCode: 137, reason: "OOMKilled", finishedAt: "2026-11-21T10:00:00Z" }
const crashed = {
  metadata: { name: pod.name },
  status: {
    phase: "Running",
    containerStatuses: [
      {
        ...{ name: "main", restartCount: 1, ready: false, lastState: { terminated: killed } },
        state: { waiting: { reason: "CrashLoopBackOff", message: "back-off 10s" } },
      },
    ],
  },
}
const limit: FieldChange = {
  path: "spec.template.spec.containers[name=main].resources.limits.memory",
  before: "256Mi",
  after: "64Mi",
}
const incident = [
  change(1 * second, { object: deployment, differences: [limit, { path: "status.replicas", before: 1, after: 2 }] }),
  change(2 * second, { type: "created", state: { metadata: {}, status: { phase: "Pending" } } }),
  change(3 * second, { state: crashed }),
  change(4 * second, { state: crashed }),
]

describe("why", () => {
  test("a pod that runs out of memory leads to the change of its Deployment that came before", () => {
    const facts = factsOf(pod, incident)
    const found = sentences(pod, crashed, facts, 5 * second)
    expect(found.map(({ text }) => text)).toEqual([
      "Out of memory: main: Terminated: OOMKilled (137)",
      "First seen: container main ended with exit code 137: OOMKilled",
      "Before that, Deployment web was changed",
    ])
    expect(found[2]?.fact?.fields).toEqual([limit])
  })

  test("says nothing twice", () => {
    const texts = factsOf(pod, incident).map(({ text }) => text)
    expect(texts.filter((text) => text.startsWith("container"))).toEqual([
      "container main ended with exit code 137: OOMKilled",
      "container main waits: CrashLoopBackOff: back-off 10s",
    ])
  })

  test("is in order of time and total for states of any structure", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(1000), fc.json(), fc.boolean())), (states) => {
        const changes = states.map(([time, json, isNested]) => {
          const value = JSON.parse(json)
          return change(time, { state: isNested ? { status: value, metadata: value, spec: value } : { ...value } })
        })
        const times = factsOf(pod, changes).map(({ time }) => time)
        expect(times).toEqual(times.toSorted((one, other) => one - other))
      }),
    )
  })
})

describe("the numbers of an object", () => {
  test("hold what each change made of them, from the beginning of the window to its end", () => {
    const values = fc.array(fc.integer(), { minLength: 2, maxLength: 20 })
    fc.assert(
      fc.property(values, (numbers) => {
        const changes = numbers
          .slice(1)
          .map((after, index) =>
            change(10 + index, { differences: [{ path: "spec.replicas", before: numbers[index], after }] }),
          )
        const [series] = numbersOf(changes, { from: 0, to: 1000 })
        expect(series?.values).toEqual([...numbers, numbers.at(-1)])
        expect([series?.times[0], series?.times.at(-1)]).toEqual([0, 1000])
      }),
    )
  })

  test("are quantities too, end with the object, and are none where a text is no number", () => {
    const differences: ReadonlyArray<FieldChange> = [
      { path: "memory", before: "1Ki", after: "2Ki" },
      { path: "name", before: "1a", after: "2b" },
      { path: "metadata.resourceVersion", before: "1", after: "2" },
    ]
    const changes = [change(10, { differences }), change(20, { type: "deleted" })]
    expect(numbersOf(changes, { from: 0, to: 100 })).toEqual([
      { path: "memory", times: [0, 10, 20], values: [1024, 2048, 2048] },
    ])
  })
})

describe("what went wrong", () => {
  const finding = (code: Finding["code"], name: string, from: number, to?: number): Finding => ({
    ...{ code, lane: name, object: { ...pod, name, uid: name }, from, message: "", count: 1 },
    ...(to !== undefined && { to }),
  })

  test("is one thing for the pods of one Deployment, with the most serious first", () => {
    const pods = ["web-6d5f8c9b7-x2x4z", "web-6d5f8c9b7-bcdfg", "web-7f7f7f7f7-22222"]
    const groups = groupsOf([
      finding("failed-pod", "other", 9, 10),
      ...pods.map((name, index) => finding("crash-loop", name, index, index === 1 ? undefined : 8)),
    ])
    expect(groups.map(({ code, name, findings, from, to }) => [code, name, findings.length, from, to])).toEqual([
      ["crash-loop", "web-…", 3, 0, undefined],
      ["failed-pod", "other", 1, 9, 10],
    ])
  })

  test("loses no finding, and knows names that are not generated", () => {
    expect(["web-server", "db-0", "web-backend"].map((name) => stemOf({ gvk: "v1.Pod", name }))).toEqual([
      "web-server",
      "db-…",
      "web-backend",
    ])
    const names = fc.array(fc.tuple(fc.string(), fc.nat()))
    fc.assert(
      fc.property(names, (all) => {
        const findings = all.map(([name, from]) => finding("crash-loop", name, from))
        const grouped = groupsOf(findings).flatMap((group) => group.findings)
        expect(new Set(grouped)).toEqual(new Set(findings))
      }),
    )
  })
})

describe("differences", () => {
  test("of two texts give both back", () => {
    fc.assert(
      fc.property(fc.string(), fc.string({ maxLength: 40 }), fc.string({ maxLength: 40 }), (same, one, other) => {
        const [before, after] = [one + same.repeat(9), other + same.repeat(9)]
        const parts = textParts({ path: "", before, after })
        if (parts === undefined) return
        const side = (left: string): string => parts.flatMap((part) => (part.side === left ? [] : [part.text])).join("")
        expect([side("after"), side("before")]).toEqual([before, after])
      }),
    )
  })

  test("of two states mark the lines of each", () => {
    const state = fc.dictionary(
      fc.constantFrom("a", "b", "c", "d"),
      fc.json().map((json) => JSON.parse(json)),
    )
    fc.assert(
      fc.property(state, state, (before, after) => {
        const lines = markedLines(after, before)
        const without = (mark: string) => lines.flatMap((line) => (line.mark === mark ? [] : [line.text]))
        expect([without("removed"), without("added")]).toEqual([yamlLines(after), yamlLines(before)])
      }),
    )
  })
})
