/** What the operator of kube-rs does, whatever it runs in. */

import { expect } from "vitest"
import { eventually } from "../harness/eventually.ts"
import { cafe, cafes } from "./cafes.ts"
import type { RunningProgram } from "./running-program.ts"
import type { Surroundings } from "./with-program.ts"

/** It defines its kind, keeps status and Deployment, holds what matches, and tidies up before an object goes. */
export const keepsCafes = async (
  { sandbox, api, troubles }: Surroundings,
  { output }: RunningProgram,
): Promise<void> => {
  const holds = () =>
    output()
      .split("\n")
      .filter((line) => line.startsWith("holds"))
      .at(-1)
  const corner = () => sandbox.get("example.com/v1.Cafe", "default", "corner")
  const deployment = () => sandbox.get("apps/v1.Deployment", "default", "corner")
  const target = { namespace: "default", name: "corner" }
  await eventually(() => expect(holds()).toBe("holds "))
  await api.create(cafes, cafe("corner", { tables: 2 }, { open: "yes" }))
  await expect(api.create(cafes, cafe("palace", { tables: 10 }))).rejects.toThrow(/spec.tables/)
  await eventually(() => expect(corner()?.status).toEqual({ open: 2 }))
  expect(corner()).toMatchObject({ spec: { blend: "house" }, metadata: { finalizers: ["cafes.example.com/tidy"] } })
  const applied = { manager: "cafes.example.com", operation: "Apply", subresource: "status" }
  expect(corner()?.metadata.managedFields).toContainEqual(expect.objectContaining(applied))
  expect(deployment()?.metadata.ownerReferences).toMatchObject([{ kind: "Cafe", name: "corner" }])
  await eventually(() => expect(holds()).toBe("holds corner=2"))
  await api.patch(cafes, target, "merge", { spec: { tables: 3 } })
  await eventually(() => expect(corner()?.status).toEqual({ open: 3 }))
  await eventually(() => expect(holds()).toBe("holds corner=3"))
  await api.patch(cafes, target, "merge", { metadata: { labels: { open: "no" } } })
  await eventually(() => expect(holds()).toBe("holds "))
  // The second note of the same reason becomes a series of the first.
  expect(sandbox.list("v1.Event")).toContainEqual(
    expect.objectContaining({ reason: "Opened", series: expect.objectContaining({ count: expect.any(Number) }) }),
  )
  await api.delete(cafes, target)
  await eventually(() => expect([corner(), deployment()]).toEqual([undefined, undefined]))
  expect(sandbox.get("v1.ConfigMap", "default", "corner-closed")).toBeDefined()
  expect(output()).not.toContain("failed")
  expect(troubles).toEqual([])
}
