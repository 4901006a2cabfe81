import { expect, test } from "vitest"
import { numbersOf } from "../../../src/ui/object/numbers.ts"
import type { FieldChange, ObjectChange } from "../../../src/ui/source/source.ts"

const object = { gvk: "apps/v1.Deployment", namespace: "shop", name: "web", uid: "u" }

const change = (
  type: ObjectChange["type"],
  time: number,
  ...differences: ReadonlyArray<FieldChange>
): ObjectChange => ({
  ...{ type, object, resourceVersion: "1", time, sequence: time, managers: [], differences, hasMoreDifferences: false },
})

const replicas = (before: number, after: number): FieldChange => ({ path: "spec.replicas", before, after })

const window = { from: 10, to: 90 }

test("a number holds from the beginning of the window to its end", () => {
  expect(numbersOf([change("changed", 20, replicas(1, 3))], window)).toEqual([
    { path: "spec.replicas", times: [10, 20, 90], values: [1, 3, 3] },
  ])
})

test.each(["created", "appeared"] as const)("a number of an object that %s in the window begins then", (type) => {
  const changes = [change(type, 15), change("changed", 20, replicas(1, 3)), change("changed", 30, replicas(3, 4))]
  expect(numbersOf(changes, window)).toEqual([{ path: "spec.replicas", times: [15, 20, 30, 90], values: [1, 3, 4, 4] }])
})

test("a number of an object that ends in the window ends with it", () => {
  const changes = [change("created", 5), change("changed", 20, replicas(1, 3)), change("deleted", 50)]
  expect(numbersOf(changes, window)).toEqual([{ path: "spec.replicas", times: [10, 20, 50], values: [1, 3, 3] }])
})
