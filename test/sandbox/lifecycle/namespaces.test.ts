/** Namespaces from their creation to the deletion of their last object. */

import { expect, test } from "vitest"
import { Sandbox } from "../../../src/library/sandbox.ts"
import { bodyOf, mergePatch, namespacePath, pod, send, sendFor } from "../writes/write-client.ts"
import { clock, start } from "./living-sandbox.ts"

const make = (sandbox: Sandbox, name: string) =>
  sendFor(sandbox, 201, "POST", "/api/v1/namespaces", { metadata: { name } })

test("a cluster begins with the usual namespaces, each with its account and certificate", async () => {
  const sandbox = await start()
  const names = (await sendFor(sandbox, 200, "GET", "/api/v1/namespaces")).items.map(({ metadata }) => metadata.name)
  expect(names).toEqual(["default", "kube-node-lease", "kube-public", "kube-system"])
  for (const name of names) {
    expect(sandbox.get("v1.ServiceAccount", name, "default")).toBeDefined()
    expect(sandbox.get("v1.ConfigMap", name, "kube-root-ca.crt")?.data).toEqual({ "ca.crt": "" })
  }
})

test("a new namespace is active and complete before the response to its creation; deleted parts are restored", async () => {
  const sandbox = await start()
  const made = await make(sandbox, "a")
  expect([made.status, made.spec]).toEqual([{ phase: "Active" }, { finalizers: ["kubernetes"] }])
  await sendFor(sandbox, 201, "POST", `${namespacePath("a")}/pods`, pod("p"))
  await sendFor(sandbox, 200, "DELETE", `${namespacePath("a")}/serviceaccounts/default`)
  expect(sandbox.get("v1.ServiceAccount", "a", "default")).toBeDefined()
})

test("a deleted namespace accepts no more objects, is emptied and removed", async () => {
  const sandbox = await start()
  await make(sandbox, "a")
  await sendFor(sandbox, 201, "POST", `${namespacePath("a")}/configmaps`, { metadata: { name: "c" } })
  await sendFor(sandbox, 201, "POST", `${namespacePath("a")}/pods`, pod("p"))
  const going = await sendFor(sandbox, 200, "DELETE", namespacePath("a"))
  expect(going.status).toEqual({ phase: "Terminating" })
  const late = await send(sandbox, "POST", `${namespacePath("a")}/configmaps`, { metadata: { name: "late" } })
  expect([late.status, bodyOf(late).message]).toEqual([
    403,
    'configmaps "late" is forbidden: unable to create new content in namespace a because it is being terminated',
  ])
  clock.advance(1)
  expect((await send(sandbox, "GET", namespacePath("a"))).status).toBe(404)
  const left = [...sandbox.ledger].filter(({ namespace }) => namespace === "a")
  const gone = new Set(left.filter(({ action }) => action === "deleted").map(({ gvk, name }) => `${gvk} ${name}`))
  expect(gone).toEqual(new Set(left.map(({ gvk, name }) => `${gvk} ${name}`)))
})

test("an object with finalizers blocks its namespace, which reports it, until they are removed", async () => {
  const sandbox = await start()
  await make(sandbox, "a")
  const path = `${namespacePath("a")}/configmaps`
  await sendFor(sandbox, 201, "POST", path, { metadata: { name: "c", finalizers: ["a.io/x"] } })
  await sendFor(sandbox, 200, "DELETE", namespacePath("a"))
  clock.advance(1)
  const waiting = await sendFor(sandbox, 200, "GET", namespacePath("a"))
  const conditions = waiting.status.conditions as ReadonlyArray<{ type: string; status: string; message: string }>
  expect(
    conditions.filter(({ status }) => status === "True").map(({ type, message }) => `${type}: ${message}`),
  ).toEqual([
    "NamespaceContentRemaining: Some resources are remaining: configmaps. has 1 resource instances",
    "NamespaceFinalizersRemaining: Some content in the namespace has finalizers remaining: a.io/x in 1 resource instances",
  ])
  expect(waiting.metadata.managedFields).toContainEqual(
    expect.objectContaining({ manager: "kube-controller-manager", subresource: "status" }),
  )
  await sendFor(sandbox, 200, "PATCH", `${path}/c`, { metadata: { finalizers: null } }, mergePatch)
  clock.advance(1)
  expect((await send(sandbox, "GET", namespacePath("a"))).status).toBe(404)
})

test("another finalizer in the spec keeps it until it is finalized", async () => {
  const sandbox = await start()
  await make(sandbox, "a")
  const finalize = `${namespacePath("a")}/finalize`
  const named = (finalizers: ReadonlyArray<string>) => ({ metadata: { name: "a" }, spec: { finalizers } })
  await sendFor(sandbox, 200, "PUT", finalize, named(["kubernetes", "b.io/x"]))
  await sendFor(sandbox, 200, "DELETE", namespacePath("a"))
  clock.advance(1)
  expect(sandbox.get("v1.Namespace", "", "a")?.spec).toEqual({ finalizers: ["b.io/x"] })
  await sendFor(sandbox, 200, "PUT", finalize, named([]))
  expect(sandbox.get("v1.Namespace", "", "a")).toBeUndefined()
})

test("the cluster's own namespaces cannot be deleted", async () => {
  const sandbox = await start()
  for (const name of ["default", "kube-system", "kube-public"]) {
    expect((await send(sandbox, "DELETE", namespacePath(name))).status).toBe(403)
  }
})

test("without the controllers nothing happens by itself, as in an API server alone", async () => {
  await using sandbox = await Sandbox.start({ clock })
  expect(sandbox.resourceVersion).toBe("1002")
  await make(sandbox, "a")
  await sendFor(sandbox, 200, "DELETE", namespacePath("a"))
  clock.advance(10_000)
  expect(sandbox.get("v1.Namespace", "", "a")?.status).toEqual({ phase: "Terminating" })
})

test("the root certificate has its description, and belongs to the controller manager", async () => {
  const sandbox = await start()
  const { metadata } = await sendFor(sandbox, 200, "GET", `${namespacePath("default")}/configmaps/kube-root-ca.crt`)
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
