/** The effects of ownership on an export, on a real recording: each rule is named by the defect of SimKube 2.7 that it avoids. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import type { KubernetesObject, StoredObject } from "../../../src/apiserver/index.ts"
import { type Container, type ExportWishes, OwnerRecorder, ownedBy, podThat } from "./owner-recorder.ts"

const deployment = "apps/v1.Deployment"
const replicaSet = "apps/v1.ReplicaSet"
const statefulSet = "apps/v1.StatefulSet"
const daemonSet = "apps/v1.DaemonSet"
const pod = "v1.Pod"
const job = "batch/v1.Job"
const fleet = "example.com/v1.Fleet"

let recorder: OwnerRecorder
/** Each test has its own namespace, so that one recorder serves all. */
let namespace = ""
let tests = 0

beforeAll(async () => {
  recorder = await OwnerRecorder.start({
    [deployment]: "{trackLifecycle: true}",
    [statefulSet]: "{trackLifecycle: true}",
    [pod]: "{}",
    [job]: "{skipOwned: true}",
    "v1.Node": "{}",
    [fleet]: "{trackLifecycle: true, podSpecTemplatePaths: [/spec/template]}",
  })
  recorder.sandbox.register({
    gvk: { group: "example.com", version: "v1", kind: "Fleet" },
    plural: "fleets",
    namespaced: false,
  })
  await recorder.watching()
})
afterAll(() => recorder.close())
const inOwnNamespace = (): void => {
  namespace = `test-${++tests}`
}
afterEach(() => recorder.sandbox.faults.clear())

const put = (gvk: string, name: string, metadata: object = {}, more: Partial<KubernetesObject> = {}): StoredObject =>
  recorder.sandbox.put(gvk, { spec: { template: {} }, ...more, metadata: { namespace, name, ...metadata } })
const putCluster = (gvk: string, name: string, metadata: object = {}): StoredObject =>
  recorder.sandbox.put(gvk, { spec: {}, metadata: { name: `${namespace}-${name}`, ...metadata } })
const putPod = (name: string, life: Container | undefined, owner?: StoredObject): StoredObject =>
  put(pod, name, owner === undefined ? {} : ownedBy(owner), podThat(life))
const remove = (gvk: string, name: string): void => void recorder.sandbox.delete(gvk, namespace, name)

/** The part of the trace about this test's own objects, in short names. */
const exported = async (wishes: ExportWishes = {}) => {
  await recorder.recorded()
  const { objects, deleted, lifecycles, unknownOwners } = await recorder.trace(wishes)
  const own = (lines: ReadonlyArray<string>): ReadonlyArray<string> =>
    lines.filter((line) => new RegExp(`${namespace}[/-]`).test(line)).map((line) => line.replace(`${namespace}/`, ""))
  return { objects: own(objects), deleted: own(deleted), lifecycles: own(lifecycles), unknownOwners }
}

const web = `${deployment} web`

describe("W-09: an owned object is left out, in whatever order the objects were recorded", () => {
  test("recorded before its owner", async () => {
    inOwnNamespace()
    recorder.sandbox.faults.stall("deployments")
    const owner = put(deployment, "web")
    const between = put(replicaSet, "web-1", ownedBy(owner))
    putPod("web-1-a", { start: 100, end: 200 }, between)
    putPod("direct", { start: 100, end: 200 }, owner)
    await recorder.recorded(pod)
    recorder.sandbox.faults.resume("deployments")
    expect(await exported()).toEqual({
      objects: [web],
      deleted: [],
      lifecycles: [`${web} 100-200`, `${web} 100-200`],
      unknownOwners: null,
    })
  })

  test("although its owner and the objects between them are gone by export time", async () => {
    inOwnNamespace()
    const owner = put(deployment, "web")
    const between = put(replicaSet, "web-1", ownedBy(owner))
    putPod("web-1-a", { start: 100 }, between)
    // Looks up the objects between them while they exist.
    await exported()
    remove(pod, "web-1-a")
    remove(replicaSet, "web-1")
    remove(deployment, "web")
    const { objects, deleted, lifecycles, unknownOwners } = await exported()
    expect({ objects, deleted, unknownOwners }).toEqual({
      objects: [web],
      deleted: ["Deployment web"],
      unknownOwners: null,
    })
    expect(lifecycles).toEqual([expect.stringMatching(new RegExp(`^${web} 100-\\d+$`))])
  })

  test("if the object between them is gone before it could be looked up, the owner is unknown, nothing waits for it, and the object is exported", async () => {
    inOwnNamespace()
    const owner = put(deployment, "web")
    recorder.sandbox.faults.stall("pods")
    putPod("web-1-a", { start: 100 }, put(replicaSet, "web-1", ownedBy(owner)))
    remove(replicaSet, "web-1")
    recorder.sandbox.faults.resume("pods")
    expect(await exported()).toEqual({
      objects: [web, `${pod} web-1-a`],
      deleted: [],
      lifecycles: [],
      unknownOwners: null,
    })
  })

  test("if the owner was deleted before the window, its objects are in the trace", async () => {
    inOwnNamespace()
    const owner = put(deployment, "web")
    putPod("web-a", { start: 100 }, owner)
    remove(deployment, "web")
    const start_time = await recorder.boundary()
    putPod("web-b", { start: 300 }, owner)
    const { objects, lifecycles } = await exported({ start_time })
    expect({ objects, lifecycles }).toEqual({ objects: [`${pod} web-a`, `${pod} web-b`], lifecycles: [] })
  })

  test("if the owner was created after the window, its objects are in the trace", async () => {
    inOwnNamespace()
    recorder.sandbox.faults.stall("deployments")
    const owner = put(deployment, "web")
    putPod("web-a", { start: 100 }, owner)
    await recorder.recorded(pod)
    const now = Date.now()
    while (Date.now() <= now + 1) await new Promise(setImmediate)
    recorder.sandbox.faults.resume("deployments")
    expect((await exported({ end_time: (now + 1) * 1000 })).objects).toEqual([`${pod} web-a`])
    expect((await exported()).objects).toEqual([web])
  })
})

describe("W-13: owners without a namespace", () => {
  test("exclude the objects that they own when they are in the trace, and key their lifecycles by their bare name", async () => {
    inOwnNamespace()
    putPod("sailor", { start: 100, end: 200 }, putCluster(fleet, "fleet"))
    const { objects, lifecycles } = await exported()
    expect(objects).toEqual([`${fleet} ${namespace}-fleet`])
    expect(lifecycles).toEqual([`${fleet} ${namespace}-fleet 100-200`])
  })

  test("are in no trace of a format that cannot represent them, so the objects that they own are", async () => {
    inOwnNamespace()
    putPod("mirror", { start: 100 }, putCluster("v1.Node", "node"))
    expect((await exported()).objects).toEqual([`${pod} mirror`])
    const names = (await recorder.changes({ filters: { excluded_owned: true } })).map(({ name }) => name)
    expect(names).toContain(`${namespace}-node`)
    expect(names).not.toContain("mirror")
  })

  test("are looked up at their cluster-scoped path, and their own owners are followed", async () => {
    inOwnNamespace()
    const unrelated = putCluster("v1.PersistentVolume", "volume")
    const related = putCluster("v1.PersistentVolume", "claimed", ownedBy(putCluster(fleet, "fleet")))
    putPod("one", { start: 100, end: 200 }, unrelated)
    putPod("other", { start: 100, end: 300 }, related)
    const { objects, lifecycles, unknownOwners } = await exported()
    expect(objects).toEqual([`${fleet} ${namespace}-fleet`, `${pod} one`])
    expect(lifecycles).toEqual([`${fleet} ${namespace}-fleet 100-300`])
    expect(unknownOwners).toBeNull()
    expect(recorder.sandbox.requests.count({ verb: "get", resource: "persistentvolumes", namespace })).toBe(0)
  })

  test("own objects without a namespace", async () => {
    inOwnNamespace()
    putCluster(fleet, "part", ownedBy(putCluster(fleet, "fleet")))
    expect((await exported()).objects).toEqual([`${fleet} ${namespace}-fleet`])
  })
})

describe("lifecycles", () => {
  test("W-30: a reused name has a lifecycle for each pod that had it", async () => {
    inOwnNamespace()
    const owner = put(statefulSet, "db")
    putPod("db-0", { start: 100, end: 200 }, owner)
    remove(pod, "db-0")
    putPod("db-0", undefined, owner)
    putPod("db-0", { start: 300 }, owner)
    expect((await exported()).lifecycles).toEqual([`${statefulSet} db 100-200`, `${statefulSet} db 300-`])
  })

  test("W-32: pods that ran and ended before their owners were seen are included", async () => {
    inOwnNamespace()
    recorder.sandbox.faults.stall("deployments")
    const between = put(replicaSet, "web-1", ownedBy(put(deployment, "web")))
    putPod("web-1-a", { start: 100 }, between)
    putPod("web-1-a", { start: 100, end: 200 }, between)
    remove(pod, "web-1-a")
    await recorder.recorded(pod)
    recorder.sandbox.faults.resume("deployments")
    expect((await exported()).lifecycles).toEqual([`${web} 100-200`])
  })

  test("W-33: a pod that spans the window is included, from the window's start", async () => {
    inOwnNamespace()
    const owner = put(deployment, "web")
    const start_time = await recorder.boundary()
    const seconds = Math.floor(start_time / 1_000_000)
    put(deployment, "web", {}, { spec: { replicas: 2 } })
    putPod("web-a", { start: seconds - 1000, end: seconds + 1000 }, owner)
    putPod("web-b", { start: seconds - 1000 }, owner)
    putPod("before", { start: seconds - 1000, end: seconds - 500 }, owner)
    putPod("after", { start: seconds + 500 }, owner)
    const end_time = await recorder.boundary()
    const { lifecycles } = await exported({ start_time, end_time })
    // What ends after the window is open in it, whenever it is asked for.
    expect(lifecycles).toEqual([`${web} ${seconds}-`, `${web} ${seconds}-`])
  })

  test("W-35: a pod whose container is restarted ends when the restarted one does", async () => {
    inOwnNamespace()
    const owner = put(deployment, "web")
    for (const life of [{ start: 100 }, { start: 100, end: 200 }, { start: 300 }, { start: 300, end: 400 }]) {
      putPod("web-a", life, owner)
    }
    expect((await exported()).lifecycles).toEqual([`${web} 100-400`])
  })

  test("an object that is adopted after it was first seen belongs to its owner from then on", async () => {
    inOwnNamespace()
    putPod("stray", { start: 100 })
    const owner = put(deployment, "web")
    const before = await exported()
    expect(before).toMatchObject({ objects: [web, `${pod} stray`], lifecycles: [] })
    putPod("stray", { start: 100 }, put(replicaSet, "web-1", ownedBy(owner)))
    const start_time = await recorder.boundary()
    putPod("stray", { start: 100, end: 200 }, put(replicaSet, "web-1", ownedBy(owner)))
    expect(await exported({ start_time, filters: {} })).toMatchObject({ objects: [web], deleted: [] })
    expect((await exported()).lifecycles).toEqual([`${web} 100-200`])
  })
})

describe("W-31: a failed look-up is repeated and never taken for an answer", () => {
  test.each([500, 503, 429])("status %i", async (status) => {
    inOwnNamespace()
    const failures = (await recorder.statistics()).failures
    recorder.sandbox.faults.respond("replicasets", status, { verb: "get", times: 1 })
    putPod("web-1-a", { start: 100, end: 200 }, put(replicaSet, "web-1", ownedBy(put(deployment, "web"))))
    expect(await exported()).toEqual({
      objects: [web],
      deleted: [],
      lifecycles: [`${web} 100-200`],
      unknownOwners: null,
    })
    expect((await recorder.statistics()).failures).toBe(failures + 1)
  })

  test("as long as it fails, the export names the unknown owner and includes the objects that may be owned by it", async () => {
    inOwnNamespace()
    recorder.sandbox.faults.respond("replicasets", 403, { verb: "get" })
    putPod("web-1-a", { start: 100, end: 200 }, put(replicaSet, "web-1", ownedBy(put(deployment, "web"))))
    expect(await exported({ owner_deadline_ms: 100 })).toEqual({
      objects: [web, `${pod} web-1-a`],
      deleted: [],
      lifecycles: [],
      unknownOwners: `1 (${replicaSet} ${namespace}/web-1)`,
    })
    recorder.sandbox.faults.clear()
    expect(await exported()).toMatchObject({ objects: [web], lifecycles: [`${web} 100-200`], unknownOwners: null })
  })
})

describe("filters", () => {
  test("objects of a DaemonSet are left out unless requested", async () => {
    inOwnNamespace()
    putPod("agent-a", { start: 100 }, put(daemonSet, "agent"))
    expect((await exported()).objects).toEqual([])
    const filters = { excluded_daemonset_owned: false }
    expect((await exported({ filters })).objects).toEqual([`${pod} agent-a`])
  })

  test("owned objects can be requested", async () => {
    inOwnNamespace()
    putPod("web-1-a", { start: 100 }, put(replicaSet, "web-1", ownedBy(put(deployment, "web"))))
    expect((await exported({ filters: { excluded_owned: false } })).objects).toEqual([web, `${pod} web-1-a`])
  })

  test("W-10: skipOwned excludes an owned object and its deletion, with any owner, and includes the objects that it owns", async () => {
    inOwnNamespace()
    const nightly = put(job, "nightly", ownedBy(put("batch/v1.CronJob", "nightly")))
    putPod("nightly-a", { start: 100 }, nightly)
    put(job, "by-hand")
    remove(job, "nightly")
    remove(job, "by-hand")
    const { objects, deleted } = await exported({ filters: { excluded_owned: false } })
    expect({ objects, deleted }).toEqual({ objects: [`${job} by-hand`, `${pod} nightly-a`], deleted: ["Job by-hand"] })
    expect((await exported()).objects).toEqual([`${job} by-hand`, `${pod} nightly-a`])
  })

  test("the objects of an owner that a label filter excludes are in the trace", async () => {
    inOwnNamespace()
    putPod("web-a", { start: 100, end: 200 }, put(deployment, "web", { labels: { kind: "noise" } }))
    putPod("shop-a", { start: 100, end: 200 }, put(deployment, "shop", { labels: { kind: "load" } }))
    const filters = { excluded_labels: [{ matchLabels: { kind: "noise" } }] }
    const { objects, lifecycles } = await exported({ filters })
    expect(objects).toEqual([`${deployment} shop`, `${pod} web-a`])
    expect(lifecycles).toEqual([`${deployment} shop 100-200`])
  })

  test("the objects of an owner that a namespace filter excludes are in the trace", async () => {
    inOwnNamespace()
    putPod("sailor", { start: 100 }, putCluster(fleet, "fleet"))
    expect((await exported()).objects).toEqual([`${fleet} ${namespace}-fleet`])
    // The empty name matches objects without a namespace.
    expect((await exported({ filters: { excluded_namespaces: [""] } })).objects).toEqual([`${pod} sailor`])
  })

  test("objects below an excluded owner are excluded if an owner further up is in the trace", async () => {
    inOwnNamespace()
    const owner = put(statefulSet, "db", { labels: { kind: "noise" }, ...ownedBy(putCluster(fleet, "fleet")) })
    putPod("db-0", { start: 100, end: 200 }, owner)
    const filters = { excluded_labels: [{ matchLabels: { kind: "noise" } }] }
    const { objects, lifecycles } = await exported({ filters })
    expect(objects).toEqual([`${fleet} ${namespace}-fleet`])
    expect(lifecycles).toEqual([`${fleet} ${namespace}-fleet 100-200`])
  })
})
