/** The lines of `reel why`, change by change. */
import { expect, test } from "vitest"
import { WhyLines } from "../../../src/cli/past/why-lines.ts"
import { type JsonObject, parseExactJson } from "../../../src/trace/index.ts"

const second = 1_000_000
const base = Date.UTC(2026, 10, 28, 5, 0, 0) * 1000

const change = (type: string, atSeconds: number, conditions: ReadonlyArray<object>): JsonObject =>
  parseExactJson(
    JSON.stringify({
      ...{ gvk: "v1.Node", uid: "n", namespace: "", name: "node-1", type, time: base + atSeconds * second },
      managers: [],
      object: { metadata: { creationTimestamp: "2026-11-28T04:00:00Z" }, status: { conditions } },
    }),
  ) as JsonObject

const lines = (): WhyLines => new WhyLines("v1.Node", (micros) => new Date(micros / 1000).toISOString().slice(11, 23))

test("a condition is dated by its own transition, not by the list or the change that brings it", () => {
  const why = lines()
  const ready = { type: "Ready", status: "True", lastTransitionTime: "2026-11-28T04:00:09Z" }
  const pressed = { type: "DiskPressure", status: "False", lastTransitionTime: "2026-11-28T04:00:02Z" }
  expect(why.of(change("appeared", 0.5, [ready, pressed]))).toEqual([
    "04:00:02.000  v1.Node node-1  condition DiskPressure is False",
    "04:00:09.000  v1.Node node-1  condition Ready is True",
    "05:00:00.500  v1.Node node-1  is first seen; created 2026-11-28T04:00:00Z",
  ])
  const lost = { ...ready, status: "Unknown", reason: "NodeStatusUnknown", lastTransitionTime: "2026-11-28T05:00:40Z" }
  expect(why.of(change("changed", 55, [lost, pressed]))).toEqual([
    "05:00:40.000  v1.Node node-1  condition Ready is Unknown: NodeStatusUnknown",
  ])
})

test("a transition in the second of the change has the time of the change, which is exact; so has one that says none, or a later one", () => {
  const why = lines()
  for (const [index, lastTransitionTime] of ["2026-11-28T05:01:00Z", "", "2026-11-28T06:00:00Z"].entries())
    expect(why.of(change("changed", 60.7, [{ type: "Ready", status: String(index), lastTransitionTime }]))).toEqual([
      `05:01:00.700  v1.Node node-1  condition Ready is ${index}`,
    ])
})

const pod = (time: number, type: string, uid: string): JsonObject => ({
  ...{ gvk: "v1.Pod", namespace: "shop", name: "db-0", uid, type, time },
  object: { metadata: { creationTimestamp: "2026-03-02T03:00:00Z" } },
})
const owner = (time: number, type: string): JsonObject => ({
  ...{ gvk: "apps/v1.StatefulSet", namespace: "shop", name: "db", uid: "owner", type, time, object: {} },
  differences: [{ path: "spec.replicas", before: time, after: time + 1 }],
})

const told = (changes: ReadonlyArray<JsonObject>): ReadonlyArray<string> => {
  const lines = new WhyLines("v1.Pod", String)
  return changes.flatMap((change) => lines.of(change)).filter((line) => /^\d/.test(line))
}

test("the end of the object is the last line, whatever its owner did later", () => {
  expect(
    told([
      owner(1, "appeared"),
      pod(2, "appeared", "a"),
      owner(3, "changed"),
      pod(4, "deleted", "a"),
      owner(5, "changed"),
      owner(6, "deleted"),
    ]),
  ).toEqual([
    "1  apps/v1.StatefulSet shop/db  is first seen",
    "2  v1.Pod shop/db-0  is first seen; created 2026-03-02T03:00:00Z",
    "3  apps/v1.StatefulSet shop/db  is changed",
    "4  v1.Pod shop/db-0  is deleted  by ?",
  ])
})

test("what the owner did between two objects of the name is told with the second", () => {
  expect(
    told([
      pod(1, "appeared", "a"),
      pod(2, "vanished", "a"),
      owner(3, "changed"),
      pod(4, "appeared", "b"),
      owner(5, "changed"),
    ]),
  ).toEqual([
    "1  v1.Pod shop/db-0  is first seen; created 2026-03-02T03:00:00Z",
    "2  v1.Pod shop/db-0  was gone when the kind was listed again  by ?",
    "3  apps/v1.StatefulSet shop/db  is changed",
    "4  v1.Pod shop/db-0  is first seen; created 2026-03-02T03:00:00Z",
    "5  apps/v1.StatefulSet shop/db  is changed",
  ])
})
