import { expect, test } from "vitest"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const hour = 3_600_000

test("Events expire one hour after their last change, each by itself", async () => {
  const clock = new ManualClock()
  await using sandbox = await Sandbox.start({ lifecycle: true, clock, bookmarkInterval: 0 })
  const put = (name: string, count: number): void => {
    sandbox.put("v1.Event", { metadata: { name }, count, involvedObject: {} })
  }
  const left = (): ReadonlyArray<string> =>
    ["a", "b"].filter((name) => sandbox.get("v1.Event", "default", name) !== undefined)
  put("a", 1)
  clock.advance(hour / 2)
  put("b", 1)
  clock.advance(hour / 2 - 1)
  expect(left()).toEqual(["a", "b"])
  clock.advance(1)
  expect(left()).toEqual(["b"])
  put("b", 2)
  clock.advance(hour - 1)
  expect(left()).toEqual(["b"])
  clock.advance(1)
  expect(left()).toEqual([])
  expect(sandbox.ledger.of("v1.Event").map(({ name, action }) => `${name} ${action}`)).toEqual([
    "a applied",
    "b applied",
    "a deleted",
    "b applied",
    "b deleted",
  ])
})

test("a closed sandbox leaves no timer behind", async () => {
  const clock = new ManualClock()
  const sandbox = await Sandbox.start({ lifecycle: true, clock })
  sandbox.put("v1.Event", { metadata: { name: "a" } })
  sandbox.put("v1.ConfigMap", {
    metadata: { name: "b", ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "x", uid: "y" }] },
  })
  await sandbox.close()
  expect(clock.pending).toBe(0)
})
