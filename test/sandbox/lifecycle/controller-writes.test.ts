/** Writes of controllers and their field managers, as observed with Kubernetes 1.34.4. */

import { afterEach, expect, test } from "vitest"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { configMaps, mergePatch, sendFor } from "../writes/write-client.ts"

const opened: Sandbox[] = []
const clock = new ManualClock()
const start = async (): Promise<Sandbox> => {
  const sandbox = await Sandbox.start({ lifecycle: true, clock, bookmarkInterval: 0 })
  opened.push(sandbox)
  return sandbox
}
afterEach(async () => {
  await Promise.all(opened.splice(0).map((sandbox) => sandbox.close()))
})
const settle = (): void => {
  for (let round = 0; round < 10; round++) clock.advance(1)
}

const map = async (sandbox: Sandbox, name: string, owners: ReadonlyArray<string> = [], rest: object = {}) => {
  const ownerReferences = owners.map((owner) => {
    const uid = sandbox.get("v1.ConfigMap", "default", owner)?.metadata.uid
    return { apiVersion: "v1", kind: "ConfigMap", name: owner, uid, blockOwnerDeletion: true }
  })
  return sendFor(sandbox, 201, "POST", configMaps, { metadata: { name, ownerReferences, ...rest }, data: { k: "v" } })
}
const found = (sandbox: Sandbox, name: string) => sandbox.get("v1.ConfigMap", "default", name)

test("an orphaned dependent has no owner, and its references have no manager", async () => {
  const sandbox = await start()
  await map(sandbox, "owner")
  await map(sandbox, "dependent", ["owner"])
  await sendFor(sandbox, 200, "DELETE", `${configMaps}/owner?propagationPolicy=Orphan`)
  settle()
  expect(found(sandbox, "owner")).toBeUndefined()
  expect(JSON.stringify(found(sandbox, "dependent"))).not.toContain("wnerReferences")
})

test("a foreground deletion ends when the last dependent that blocks it is gone", async () => {
  const sandbox = await start()
  await map(sandbox, "owner")
  await map(sandbox, "dependent", ["owner"], { finalizers: ["a.io/x"] })
  await sendFor(sandbox, 200, "DELETE", `${configMaps}/owner?propagationPolicy=Foreground`)
  settle()
  expect([found(sandbox, "owner"), found(sandbox, "dependent")]).not.toContain(undefined)
  await sendFor(sandbox, 200, "PATCH", `${configMaps}/dependent`, { metadata: { finalizers: null } }, mergePatch)
  settle()
  expect([found(sandbox, "owner"), found(sandbox, "dependent")]).toEqual([undefined, undefined])
})

test("an object with two owners loses one reference, then is deleted with the other", async () => {
  const sandbox = await start()
  for (const name of ["left", "right"]) await map(sandbox, name)
  await map(sandbox, "both", ["left", "right"])
  await sendFor(sandbox, 200, "DELETE", `${configMaps}/left`)
  settle()
  expect(found(sandbox, "both")?.metadata.ownerReferences).toMatchObject([{ name: "right" }])
  await sendFor(sandbox, 200, "DELETE", `${configMaps}/right`)
  settle()
  expect(found(sandbox, "both")).toBeUndefined()
})

test("the root certificate has its description, and belongs to the controller manager", async () => {
  const sandbox = await start()
  const { metadata } = await sendFor(sandbox, 200, "GET", `${configMaps}/kube-root-ca.crt`)
  const { annotations, managedFields } = metadata
  expect(annotations).toEqual({
    "kubernetes.io/description":
      "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the " +
      "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.",
  })
  expect(managedFields).toMatchObject([
    {
      manager: "kube-controller-manager",
      operation: "Update",
      apiVersion: "v1",
      fieldsV1: {
        "f:data": { ".": {}, "f:ca.crt": {} },
        "f:metadata": { "f:annotations": { ".": {}, "f:kubernetes.io/description": {} } },
      },
    },
  ])
})

test("a namespace reports what is left with its group's dot, under the controller manager's name", async () => {
  const sandbox = await start()
  await sendFor(sandbox, 201, "POST", "/api/v1/namespaces", { metadata: { name: "n" } })
  const metadata = { name: "held", finalizers: ["a.io/x"] }
  await sendFor(sandbox, 201, "POST", "/api/v1/namespaces/n/configmaps", { metadata })
  await sendFor(sandbox, 200, "DELETE", "/api/v1/namespaces/n")
  settle()
  const { status, metadata: after } = await sendFor(sandbox, 200, "GET", "/api/v1/namespaces/n")
  expect(JSON.stringify(status)).toContain("Some resources are remaining: configmaps. has 1 resource instances")
  expect(after.managedFields).toContainEqual(
    expect.objectContaining({ manager: "kube-controller-manager", subresource: "status" }),
  )
})
