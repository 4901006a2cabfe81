import { expect, test } from "vitest"
import { WhyLines } from "../../../src/cli/past/why-lines.ts"
import type { JsonObject } from "../../../src/trace/json/exact-json.ts"

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
    "1  apps/v1.StatefulSet shop/db  is first recorded",
    "2  v1.Pod shop/db-0  is first recorded; created 2026-03-02T03:00:00Z",
    "3  apps/v1.StatefulSet shop/db  is changed",
    "4  v1.Pod shop/db-0  is deleted",
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
    "1  v1.Pod shop/db-0  is first recorded; created 2026-03-02T03:00:00Z",
    "2  v1.Pod shop/db-0  was gone when the kind was listed again",
    "3  apps/v1.StatefulSet shop/db  is changed",
    "4  v1.Pod shop/db-0  is first recorded; created 2026-03-02T03:00:00Z",
    "5  apps/v1.StatefulSet shop/db  is changed",
  ])
})
