/** Which objects are deleted with their owners. */

import { describe, expect, test } from "vitest"
import type { Sandbox } from "../../../src/library/sandbox.ts"
import { type Body, configMaps, mergePatch, send, sendFor } from "../writes/write-client.ts"
import { clock, start } from "./living-sandbox.ts"

const owner = ({ metadata }: Body, rest: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  name: metadata.name,
  uid: metadata.uid,
  ...rest,
})

const make = (
  sandbox: Sandbox,
  name: string,
  owners: ReadonlyArray<object> = [],
  finalizers: ReadonlyArray<string> = [],
) => sendFor(sandbox, 201, "POST", configMaps, { metadata: { name, ownerReferences: owners, finalizers } })

const remaining = (sandbox: Sandbox): ReadonlyArray<string> =>
  ["a", "b", "c", "d"].filter((name) => sandbox.get("v1.ConfigMap", "default", name) !== undefined)

const settle = (): void => {
  for (let round = 0; round < 10; round++) clock.advance(1)
}

describe("in the background", () => {
  test("dependents are deleted after their owner, and theirs after them", async () => {
    const sandbox = await start()
    const a = await make(sandbox, "a")
    const b = await make(sandbox, "b", [owner(a)])
    await make(sandbox, "c", [owner(b)])
    settle()
    await sendFor(sandbox, 200, "DELETE", `${configMaps}/a`)
    expect(remaining(sandbox)).toEqual(["b", "c"])
    settle()
    expect(remaining(sandbox)).toEqual([])
  })

  test("an object with another owner stays, without the reference, until that one is gone too", async () => {
    const sandbox = await start()
    const [a, b] = [await make(sandbox, "a"), await make(sandbox, "b")]
    await make(sandbox, "c", [owner(a), owner(b)])
    await sendFor(sandbox, 200, "DELETE", `${configMaps}/a`)
    settle()
    const references = sandbox.get("v1.ConfigMap", "default", "c")?.metadata.ownerReferences as ReadonlyArray<{
      name: string
    }>
    expect(references.map(({ name }) => name)).toEqual(["b"])
    await sendFor(sandbox, 200, "DELETE", `${configMaps}/b`)
    settle()
    expect(remaining(sandbox)).toEqual([])
  })

  test("an object created for an owner that is gone, or was another of that name, is deleted too", async () => {
    const sandbox = await start()
    const a = await make(sandbox, "a")
    await make(sandbox, "b", [owner(a, { uid: "00000000-0000-4000-8000-000000000000" })])
    settle()
    expect(remaining(sandbox)).toEqual(["a"])
  })

  test("an owner of a kind that is not served is ignored", async () => {
    const sandbox = await start()
    await make(sandbox, "a", [{ apiVersion: "x.io/v1", kind: "Unknown", name: "u", uid: "1" }])
    settle()
    expect(remaining(sandbox)).toEqual(["a"])
  })
})

describe("in the foreground", () => {
  test("the owner waits for the dependents that block it", async () => {
    const sandbox = await start()
    const a = await make(sandbox, "a")
    await make(sandbox, "b", [owner(a, { blockOwnerDeletion: true })], ["x.io/y"])
    await make(sandbox, "c", [owner(a)], ["x.io/y"])
    await sendFor(sandbox, 200, "DELETE", `${configMaps}/a?propagationPolicy=Foreground`)
    settle()
    expect(remaining(sandbox)).toEqual(["a", "b", "c"])
    expect(sandbox.get("v1.ConfigMap", "default", "b")?.metadata.deletionTimestamp).toBeDefined()
    await sendFor(sandbox, 200, "PATCH", `${configMaps}/b`, { metadata: { finalizers: null } }, mergePatch)
    settle()
    expect(remaining(sandbox)).toEqual(["c"])
  })

  test("an owner without dependents is deleted at once", async () => {
    const sandbox = await start()
    await make(sandbox, "a")
    await sendFor(sandbox, 200, "DELETE", `${configMaps}/a?propagationPolicy=Foreground`)
    settle()
    expect(remaining(sandbox)).toEqual([])
  })

  test("a chain is deleted from its end", async () => {
    const sandbox = await start()
    const a = await make(sandbox, "a")
    const b = await make(sandbox, "b", [owner(a, { blockOwnerDeletion: true })])
    await make(sandbox, "c", [owner(b, { blockOwnerDeletion: true })])
    await sendFor(sandbox, 200, "DELETE", `${configMaps}/a?propagationPolicy=Foreground`)
    settle()
    expect(remaining(sandbox)).toEqual([])
    const order = sandbox.ledger.of("v1.ConfigMap").filter(({ action }) => action === "deleted")
    expect(order.map(({ name }) => name)).toEqual(["c", "b", "a"])
  })
})

test("orphans stay; they lose their owner, and the manager of the reference", async () => {
  const sandbox = await start()
  const a = await make(sandbox, "a")
  await make(sandbox, "b", [owner(a)])
  await sendFor(sandbox, 200, "DELETE", `${configMaps}/a?propagationPolicy=Orphan`)
  settle()
  expect(remaining(sandbox)).toEqual(["b"])
  expect(JSON.stringify(sandbox.get("v1.ConfigMap", "default", "b"))).not.toContain("wnerReferences")
})

test("after a restore the restored references count", async () => {
  const sandbox = await start()
  const a = await make(sandbox, "a")
  await make(sandbox, "b", [owner(a)])
  const before = BigInt(sandbox.resourceVersion)
  await sendFor(sandbox, 200, "DELETE", `${configMaps}/a`)
  settle()
  sandbox.faults.restart({ revision: before })
  expect(remaining(sandbox)).toEqual(["a", "b"])
  settle()
  expect(remaining(sandbox)).toEqual(["a", "b"])
  await send(sandbox, "DELETE", `${configMaps}/a`)
  settle()
  expect(remaining(sandbox)).toEqual([])
})
