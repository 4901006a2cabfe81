import { expect, test } from "vitest"
import { OwnershipError, setControllerReference, setOwnerReference } from "../../../../src/host/controllers.ts"

const owner = {
  apiVersion: "example.com/v1",
  kind: "Widget",
  metadata: { name: "w", namespace: "default", uid: "u-1" },
}
const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "default" } }

test("The controller reference is what the garbage collector and other controllers look for", () => {
  const owned = setControllerReference(owner, pod)
  const reference = { apiVersion: "example.com/v1", kind: "Widget", name: "w", uid: "u-1" }
  expect(owned.metadata).toMatchObject({
    ownerReferences: [{ ...reference, controller: true, blockOwnerDeletion: true }],
  })
  expect(setControllerReference(owner, owned)).toEqual(owned)
  expect(setOwnerReference(owner, pod).metadata).toMatchObject({ ownerReferences: [reference] })
})

test("An owner of another version or UID replaces its own reference", () => {
  const renewed = { ...owner, apiVersion: "example.com/v2", metadata: { ...owner.metadata, uid: "u-2" } }
  const { ownerReferences } = setControllerReference(renewed, setControllerReference(owner, pod)).metadata as never
  expect(ownerReferences).toMatchObject([{ apiVersion: "example.com/v2", uid: "u-2" }])
})

test("What would be deleted at once, or has another controller, is refused", () => {
  const other = { ...owner, metadata: { ...owner.metadata, name: "other", uid: "u-3" } }
  const owned = setControllerReference(owner, pod)
  expect(() => setControllerReference(other, owned)).toThrow("v1.Pod default/p: Widget w is its controller")
  expect(() => setOwnerReference(other, owned)).not.toThrow()
  const elsewhere = { ...pod, metadata: { ...pod.metadata, namespace: "else" } }
  expect(() => setControllerReference(owner, elsewhere)).toThrow(OwnershipError)
  const clusterWide = { ...pod, metadata: { name: "p" } }
  expect(() => setOwnerReference(owner, clusterWide)).toThrow("objects of their own namespace only")
  expect(() => setControllerReference({ ...owner, metadata: { name: "w", namespace: "default" } }, pod)).toThrow(
    "no UID",
  )
})
