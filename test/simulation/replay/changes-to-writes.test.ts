import { describe, expect, test } from "vitest"
import type { ChangesToWrites } from "../../../src/simulation/replay/changes-to-writes.ts"
import type { TraceChange } from "../../../src/simulation/replay/trace-changes.ts"
import { plainPlanner } from "./plain-replay.ts"

const planner = (...included: ReadonlyArray<string>): ChangesToWrites => plainPlanner(included)

const configMap = "v1.ConfigMap"

const state = (name: string, object: object, gvk = configMap, namespace = "shop"): TraceChange => ({
  time: 1,
  gvk,
  namespace,
  name,
  object: Buffer.from(JSON.stringify(object)),
})

const deletion = (name: string, gvk = configMap, namespace = "shop"): TraceChange => ({
  time: 2,
  gvk,
  namespace,
  name,
  object: undefined,
})

const controlledBy = (apiVersion: string, kind: string, name: string) => ({
  metadata: { ownerReferences: [{ apiVersion, kind, name, uid: "production", controller: true }] },
})

describe("a state", () => {
  test("is applied in the replay's namespace", () => {
    const planned = planner().plan(state("a", { metadata: { namespace: "shop", name: "a" }, data: { x: "1" } }))
    expect(planned).toMatchObject({
      tag: "apply",
      place: { gvk: configMap, namespace: "virtual-shop", name: "a" },
      after: ["v1.Namespace /virtual-shop"],
    })
    expect(planned.tag === "apply" && JSON.parse(planned.body())).toEqual({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        namespace: "virtual-shop",
        name: "a",
        labels: { "kubereel.dev/replay": "test", "simkube.io/virtual": "true" },
        ownerReferences: [{ apiVersion: "v1", kind: "Namespace", name: "root", uid: "root-uid" }],
      },
      data: { x: "1" },
    })
  })

  test("is left out if it changes nothing that is replayed", () => {
    const planning = planner()
    planning.plan(state("a", { metadata: { name: "a", resourceVersion: "1" }, data: { x: "1" }, status: { n: 1 } }))
    const second = state("a", { metadata: { name: "a", resourceVersion: "2" }, data: { x: "1" }, status: { n: 2 } })
    expect(planning.plan(second)).toEqual({ tag: "skip", reason: "changes nothing that is replayed" })
    expect(planning.plan(state("a", { metadata: { name: "a" }, data: { x: "2" } }))).toMatchObject({ tag: "apply" })
    planning.plan(deletion("a"))
    expect(planning.plan(state("a", { metadata: { name: "a" }, data: { x: "2" } }))).toMatchObject({ tag: "apply" })
  })

  test("of an object that a controller of the target creates is left out if its owner's kind is in the trace", () => {
    const planning = planner()
    const pod = state("web-1-x", controlledBy("apps/v1", "ReplicaSet", "web-1"), "v1.Pod")
    expect(planning.plan(pod)).toMatchObject({ tag: "apply" })
    planning.expectKinds(["apps/v1.Deployment"])
    const other = { ...pod, name: "web-1-y" }
    expect(planning.plan(other)).toEqual({ tag: "skip", reason: "created by its ReplicaSet" })
    expect(planning.plan(deletion("web-1-y", "v1.Pod"))).toMatchObject({ tag: "skip" })
    // One that was replayed before it got its owner goes when the trace says so.
    expect(planning.plan(pod)).toMatchObject({ tag: "skip" })
    expect(planning.plan(deletion("web-1-x", "v1.Pod"))).toMatchObject({ tag: "delete" })
  })

  test("that the target did not accept is sent again, also if it is the same", () => {
    const planning = planner()
    const same = state("a", { data: { x: "1" } })
    const planned = planning.plan(same)
    expect(planning.plan(same)).toMatchObject({ tag: "skip" })
    if (planned.tag === "apply") planning.notWritten(planned.place)
    expect(planning.plan(same)).toMatchObject({ tag: "apply" })
  })

  test("keeps the new name of a class that was replayed, also after the class was deleted", () => {
    const planning = planner()
    const kind = "scheduling.k8s.io/v1.PriorityClass"
    const pod = (name: string) => state(name, { spec: { priorityClassName: "fast", containers: [] } }, "v1.Pod")
    const classOf = (name: string): unknown => {
      const planned = planning.plan(pod(name))
      return planned.tag === "apply" && JSON.parse(planned.body()).spec.priorityClassName
    }
    expect(classOf("a")).toBe("fast")
    planning.plan(state("fast", { value: 1, globalDefault: true }, kind, ""))
    expect(classOf("b")).toBe("virtual-fast")
    planning.plan(deletion("fast", kind, ""))
    expect(classOf("c")).toBe("virtual-fast")
  })

  test("waits for its owners and gets the UIDs that the target gave them; an owner that has none is left out", () => {
    const planning = planner()
    planning.plan(state("owner", { metadata: { name: "owner" } }))
    const ownerReferences = ["owner", "stranger"].map((name) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      name,
      uid: "production",
    }))
    const planned = planning.plan(state("owned", { metadata: { namespace: "shop", name: "owned", ownerReferences } }))
    if (planned.tag !== "apply") throw new Error(planned.tag)
    expect(planned.after).toContain("v1.ConfigMap virtual-shop/owner")
    const owners = (): ReadonlyArray<object> => JSON.parse(planned.body()).metadata.ownerReferences
    expect(owners()).toHaveLength(1)
    planning.written({ gvk: configMap, namespace: "virtual-shop", name: "owner" }, "target-uid")
    expect(owners()).toEqual([
      { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: "target-uid" },
      { apiVersion: "v1", kind: "Namespace", name: "root", uid: "root-uid" },
    ])
  })

  test("of a custom kind waits for its definition", () => {
    const planning = planner()
    const definition = { spec: { group: "ml.example.com", names: { kind: "Training" } } }
    planning.plan(state("trainings.ml.example.com", definition, "apiextensions.k8s.io/v1.CustomResourceDefinition", ""))
    expect(planning.plan(state("a", {}, "ml.example.com/v1.Training"))).toMatchObject({
      after: [
        "v1.Namespace /virtual-shop",
        "apiextensions.k8s.io/v1.CustomResourceDefinition /trainings.ml.example.com",
      ],
    })
  })

  test("whose namespace would have too long a name, or whose JSON cannot be read, is left out with that reason", () => {
    expect(planner().plan(state("a", {}, configMap, "n".repeat(60)))).toMatchObject({
      tag: "refuse",
      reason: "NameTooLong",
      message: expect.stringContaining("would have more than 63 characters with the prefix"),
    })
    const bytes = { ...state("a", {}), object: Buffer.from('{"a":') }
    expect(planner().plan(bytes)).toMatchObject({ tag: "refuse", message: "its JSON cannot be read" })
  })

  test("gets pod templates changed where SimKube's configuration says they are, but not where it is wrong", () => {
    const planning = planner()
    const trackedObjects = {
      "ml.example.com/v1.Training": { podSpecTemplatePaths: ["/spec/roles/*/template"] },
      "apps/v1.ReplicaSet": { podSpecTemplatePaths: ["/spec"] },
    }
    planning.configure(Buffer.from(JSON.stringify({ trackedObjects })))
    const template = { spec: { containers: [{ name: "c", ports: [{ containerPort: 80 }] }] } }
    const placed = {
      metadata: { annotations: { "static.simkube.io/original-namespace": "shop" } },
      spec: {
        containers: [{ name: "c" }],
        nodeSelector: { type: "virtual" },
        tolerations: [{ key: "kwok-provider", operator: "Exists", effect: "NoSchedule" }],
      },
    }
    const bodyOf = (change: TraceChange) => {
      const planned = planning.plan(change)
      return planned.tag === "apply" && JSON.parse(planned.body()).spec
    }
    expect(bodyOf(state("a", { spec: { roles: [{ template }] } }, "ml.example.com/v1.Training"))).toEqual({
      roles: [{ template: placed }],
    })
    expect(bodyOf(state("b", { spec: { replicas: 1, template } }, "apps/v1.ReplicaSet"))).toEqual({
      replicas: 1,
      template: placed,
    })
  })
})

describe("a deletion", () => {
  test("is sent if the object was replayed", () => {
    const planning = planner()
    planning.plan(state("a", {}))
    expect(planning.plan(deletion("a"))).toEqual({
      tag: "delete",
      place: { gvk: configMap, namespace: "virtual-shop", name: "a" },
    })
    expect(planning.plan(deletion("a"))).toMatchObject({ tag: "skip" })
  })

  test("of a kind that is not replayed is left out, unless it was requested", () => {
    const node = "v1.Node"
    expect(planner().plan(state("n", {}, node, ""))).toMatchObject({ tag: "skip" })
    const planning = planner("Node")
    expect(planning.plan(state("n", {}, node, ""))).toMatchObject({ tag: "apply", place: { name: "n" } })
    expect(planning.plan(deletion("n", node, ""))).toMatchObject({ tag: "delete" })
  })
})

describe("a status at the start", () => {
  const database = "example.com/v1.Database"
  const object = { metadata: { name: "a" }, spec: {}, status: { phase: "Ready" } }
  const seeding = (...seeded: ReadonlyArray<string>): ChangesToWrites => plainPlanner([], seeded)
  const statusOf = (planned: ReturnType<ChangesToWrites["plan"]>): unknown =>
    planned.tag === "apply" && planned.status !== undefined ? JSON.parse(planned.status) : undefined

  test.each([["example.com/Database"], ["custom"]])("is set for %s", (seeded) => {
    expect(statusOf(seeding(seeded).plan(state("a", object, database), true))).toEqual({
      apiVersion: "example.com/v1",
      kind: "Database",
      metadata: { namespace: "virtual-shop", name: "a" },
      status: { phase: "Ready" },
    })
  })

  test("is left to the target for other kinds, for changes after the start, and if there is none", () => {
    expect(statusOf(seeding("custom").plan(state("a", object, "apps/v1.Deployment"), true))).toBeUndefined()
    expect(statusOf(seeding().plan(state("a", object, database), true))).toBeUndefined()
    expect(statusOf(seeding("custom").plan(state("a", object, database)))).toBeUndefined()
    expect(statusOf(seeding("custom").plan(state("a", { spec: {} }, database), true))).toBeUndefined()
  })
})

test("a custom kind with a pod template is warned of, unless SimKube's configuration says where it is", () => {
  const training = "ml.example.com/v1.Training"
  const object = { spec: { template: { spec: { containers: [{ name: "a", image: "a" }] } } } }
  const [told, untold] = [planner(), planner()]
  const trackedObjects = { [training]: { podSpecTemplatePaths: ["/spec/template"] } }
  told.configure(Buffer.from(JSON.stringify({ trackedObjects })))
  for (const each of [told, untold]) each.plan(state("a", object, training))
  expect(told.warnings).toEqual([])
  expect(untold.warnings).toEqual([expect.stringContaining("/spec/template")])
})

test("a claim keeps its volume only if volumes are included", () => {
  const [volume, claim] = ["v1.PersistentVolume", "v1.PersistentVolumeClaim"]
  for (const included of [[], ["PersistentVolume"]]) {
    const planning = planner(...included)
    const states = [state("pv", { spec: {} }, volume, ""), state("a", { spec: { volumeName: "pv" } }, claim)]
    planning.expect(states)
    const [, planned] = states.map((each) => planning.plan(each))
    const { spec } = planned?.tag === "apply" ? JSON.parse(planned.body()) : { spec: undefined }
    expect(spec).toEqual(included.length > 0 ? { volumeName: "virtual-pv" } : {})
  }
})
