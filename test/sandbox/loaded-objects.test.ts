/** Objects that are stored as they are, with an identity from elsewhere, and garbage collection beside them. */
import { expect, onTestFinished, test } from "vitest"
import { Sandbox, type SandboxOptions } from "../../src/library/sandbox.ts"
import { ManualClock } from "../runtime/manual-clock.ts"

const start = async (options: SandboxOptions = {}): Promise<Sandbox> => {
  const sandbox = await Sandbox.start({ bookmarkInterval: 0, ...options })
  onTestFinished(() => sandbox.close())
  return sandbox
}

const recorded = (uid: string, more: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: {
    name: "a",
    namespace: "shop",
    uid,
    resourceVersion: "7",
    creationTimestamp: "2020-01-01T00:00:00Z",
    generation: 5,
    managedFields: [{ manager: "kubectl", operation: "Update" }],
    ...more,
  },
  data: { x: "1" },
})

test("a loaded object keeps everything but its version", async () => {
  const sandbox = await start()
  sandbox.load("v1.ConfigMap", recorded("one"))
  const { metadata, ...content } = recorded("one")
  const { resourceVersion } = sandbox
  expect(sandbox.get("v1.ConfigMap", "shop", "a")).toEqual({ ...content, metadata: { ...metadata, resourceVersion } })
  expect(sandbox.list("v1.ConfigMap").map((object) => object.metadata.uid)).toEqual(["one"])
})

test("an object that is loaded under the name of another replaces it by a deletion", async () => {
  const sandbox = await start()
  const seen: string[] = []
  sandbox.observe(({ gvk, change, previous }) => seen.push(`${gvk} ${change.type} ${change.uid} ${previous?.uid}`))
  sandbox.load("v1.ConfigMap", recorded("one"))
  sandbox.load("v1.ConfigMap", recorded("one", { labels: { a: "b" } }))
  sandbox.load("v1.ConfigMap", recorded("two"))
  expect(seen).toEqual([
    "v1.ConfigMap ADDED one undefined",
    "v1.ConfigMap MODIFIED one one",
    "v1.ConfigMap DELETED one one",
    "v1.ConfigMap ADDED two undefined",
  ])
})

test("a garbage collector that may touch some objects only leaves the others, whatever their owners", async () => {
  const clock = new ManualClock()
  const sandbox = await start({ clock, lifecycle: { collects: (uid) => uid !== "kept" } })
  const ownerReferences = [{ apiVersion: "v1", kind: "Secret", name: "gone", uid: "never-there" }]
  sandbox.load("v1.ConfigMap", recorded("kept", { name: "kept", ownerReferences }))
  sandbox.load("v1.ConfigMap", recorded("lost", { name: "lost", ownerReferences }))
  clock.advance(1000)
  expect(sandbox.list("v1.ConfigMap").map(({ metadata }) => metadata.name)).toEqual(["kept"])
  // Nothing else of a cluster's own controllers is there.
  expect(sandbox.list("v1.ServiceAccount")).toEqual([])
})

test("a request is about the object that its path names", async () => {
  const sandbox = await start()
  expect(sandbox.targetOf({ path: "/apis/apps/v1/namespaces/shop/deployments/web/status?fieldManager=a" })).toEqual({
    gvk: "apps/v1.Deployment",
    namespace: "shop",
    name: "web",
    subresource: "status",
  })
  expect(sandbox.targetOf({ path: "/apis/none.example.com/v1/things" })).toBeUndefined()
})
