/** Applies that would change nothing are not sent; all others are. */
import { describe, expect, test } from "vitest"
import { defineController, setControllerReference } from "../../../../src/host/controllers.ts"
import type { ApiObject } from "../../../../src/kube/index.ts"
import { startCluster, type TestCluster, type Widget } from "../running.ts"

const configMaps = { gvk: { group: "", version: "v1", kind: "ConfigMap" }, plural: "configmaps", namespaced: true }

/** A controller that gives each Widget a ConfigMap with its size. */
const startApplying = async () => {
  const cluster = await startCluster()
  let runs = 0
  const controller = defineController<Widget>({
    name: "sizes",
    for: "example.com/v1.Widget",
    owns: ["v1.ConfigMap"],
    reconcile: async ({ object, cluster: own }) => {
      if (object === undefined) return
      const { name, namespace } = object.metadata
      const metadata = { name, namespace, labels: { app: "sizes" } }
      const data = { size: `${object.spec.size}` }
      await own.apply(
        setControllerReference(object, { apiVersion: "v1", kind: "ConfigMap", metadata, data, immutable: false }),
      )
      runs++
    },
  })
  const running = await cluster.run([controller])
  const runsMore = async (cause: () => Promise<unknown>): Promise<void> => {
    const before = runs
    await cluster.passing(cause())
    await cluster.until(() => runs > before && running.statistics()[0]?.depth === 0)
  }
  return { ...cluster, running, controller, runsMore }
}

const applies = ({ sandbox }: Pick<TestCluster, "sandbox">): number =>
  sandbox.requests
    .entries({ resource: "configmaps", verb: "patch" })
    .filter(({ query }) => query.includes("fieldManager=sizes")).length

const place = { namespace: "default", name: "a" }
const configMap = ({ api, passing }: Pick<TestCluster, "api" | "passing">) =>
  passing(api.get<ApiObject & { data: Record<string, string> }>(configMaps, place))

describe("apply", () => {
  test("sends nothing when a run wants what was applied and is cached", async () => {
    const cluster = await startApplying()
    await cluster.runsMore(() => cluster.createWidget("a", 1))
    expect(applies(cluster)).toBe(1)
    for (const note of ["b", "c", "d"])
      await cluster.runsMore(() =>
        cluster.api.patch(widgets, place, "merge", { metadata: { annotations: { note } } }, {}),
      )
    expect(applies(cluster)).toBe(1)
  })

  test("sends another content, and what was changed, taken away or deleted by others", async () => {
    const cluster = await startApplying()
    const { api, runsMore } = cluster
    await runsMore(() => cluster.createWidget("a", 1))
    await runsMore(() => api.patch(widgets, place, "merge", { spec: { size: 2 } }, {}))
    expect([applies(cluster), (await configMap(cluster)).data]).toEqual([2, { size: "2" }])

    await runsMore(() => api.patch(configMaps, place, "merge", { data: { size: "9" } }, {}))
    await cluster.until(async () => (await configMap(cluster)).data.size === "2")
    const afterChange = applies(cluster)
    expect(afterChange).toBe(3)

    await runsMore(() => api.patch(configMaps, place, "merge", { metadata: { labels: null } }, {}))
    await cluster.until(async () => (await configMap(cluster)).metadata.labels?.app === "sizes")
    expect(applies(cluster)).toBe(4)

    const { uid } = (await configMap(cluster)).metadata
    await runsMore(() => api.delete(configMaps, place, {}))
    await cluster.until(() => applies(cluster) === 5)
    expect((await configMap(cluster)).metadata.uid).not.toBe(uid)
  })

  test("leaves alone what others add beside it", async () => {
    const cluster = await startApplying()
    await cluster.runsMore(() => cluster.createWidget("a", 1))
    await cluster.runsMore(() => cluster.api.patch(configMaps, place, "merge", { data: { theirs: "x" } }, {}))
    expect([applies(cluster), (await configMap(cluster)).data]).toEqual([1, { size: "1", theirs: "x" }])
  })

  test("sends once after a restart, which repairs what it cannot know", async () => {
    const cluster = await startApplying()
    await cluster.runsMore(() => cluster.createWidget("a", 1))
    await cluster.passing(cluster.running.close())
    await cluster.passing(cluster.api.patch(configMaps, place, "merge", { data: { size: "9" } }, {}))
    const again = await cluster.run([cluster.controller])
    await cluster.until(() => applies(cluster) === 2 && again.statistics()[0]?.depth === 0)
    expect((await configMap(cluster)).data).toEqual({ size: "1" })
  })
})

const widgets = { gvk: { group: "example.com", version: "v1", kind: "Widget" }, plural: "widgets", namespaced: true }
