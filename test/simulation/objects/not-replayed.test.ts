import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  isSystemNamed,
  notReplayedKinds,
  type RecordedKinds,
  reasonNotToReplay,
} from "../../../src/simulation/objects/not-replayed.ts"
import {
  originalNamespaceAnnotation,
  placePods,
  type TemplateChange,
} from "../../../src/simulation/objects/pod-templates.ts"
import { UnknownTemplates } from "../../../src/simulation/replay/changes-to-writes.ts"
import { changedAt, formatExactJson, type JsonObject, kindWithoutVersion } from "../../../src/trace/index.ts"
import { jsonValue, objectOf } from "../../trace/json-values.ts"

const change: TemplateChange = {
  originalNamespace: "shop",
  placement: { nodeSelector: { type: "virtual" }, taintKey: "kwok-provider" },
  renamed: (spec) => spec,
}
const toleration = { key: "kwok-provider", operator: "Exists", effect: "NoSchedule" }
const annotations = { [originalNamespaceAnnotation]: "shop" }
const placed = { nodeSelector: { type: "virtual" }, tolerations: [toleration] }
const pods = (spec: JsonObject, given = change) => placePods({ spec }, [""], given).spec

describe("A pod", () => {
  test("is placed on virtual nodes, and says which namespace it was recorded in", () => {
    expect(placePods({ spec: { containers: [] } }, [""], change)).toEqual({
      metadata: { annotations },
      spec: { containers: [], ...placed },
    })
  })

  test("keeps its own node selector, tolerations and annotations", () => {
    const own = { key: "dedicated", operator: "Exists" }
    const object = {
      metadata: { name: "web", annotations: { own: "yes" } },
      spec: { nodeSelector: { disk: "ssd", type: "real" }, tolerations: [own] },
    }
    expect(placePods(object, [""], change)).toEqual({
      metadata: { name: "web", annotations: { own: "yes", ...annotations } },
      spec: { nodeSelector: { disk: "ssd", type: "virtual" }, tolerations: [own, toleration] },
    })
  })

  test("that tolerates the taint already gets no second toleration", () => {
    const own = { key: "kwok-provider", operator: "Equal", value: "true", effect: "NoSchedule" }
    expect(pods({ tolerations: [own] })).toEqual({ ...placed, tolerations: [own] })
  })

  test("keeps its place if none is asked for", () => {
    const anywhere = { ...change, placement: { nodeSelector: {}, taintKey: undefined } }
    expect(pods({ containers: [] }, anywhere)).toEqual({ containers: [] })
  })

  test("exposes no ports, in ordinary and in init containers", () => {
    const container = { name: "web", image: "web" }
    const exposed = { ...container, ports: [{ containerPort: 80, hostPort: 80 }] }
    expect(pods({ containers: [exposed, container], initContainers: [exposed] })).toEqual({
      containers: [container, container],
      initContainers: [container],
      ...placed,
    })
  })

  test("has its spec renamed before it is placed", () => {
    const renamed = (spec: JsonObject): JsonObject => ({ ...spec, nodeSelector: { zone: "a" } })
    expect(pods({}, { ...change, renamed })).toMatchObject({ nodeSelector: { zone: "a", type: "virtual" } })
  })
})

describe("A template", () => {
  const template = { spec: { containers: [] } }
  const done = { metadata: { annotations }, spec: { containers: [], ...placed } }

  test("is found below `*` in every element, and other members of the elements stay (W-45)", () => {
    const object = { spec: { jobs: [{ name: "a", template }, { name: "b" }, "odd", { name: "c", template }] } }
    expect(placePods(object, ["/spec/jobs/*/template"], change)).toEqual({
      spec: { jobs: [{ name: "a", template: done }, { name: "b" }, "odd", { name: "c", template: done }] },
    })
  })

  test("is found at an index, and other elements stay", () => {
    expect(placePods({ list: [template, template] }, ["/list/1"], change)).toEqual({ list: [template, done] })
  })

  test("is found below an escaped name", () => {
    expect(placePods({ "a/b~c": template }, ["/a~1b~0c"], change)).toEqual({ "a/b~c": done })
    expect(placePods({ "~1": template }, ["/~01"], change)).toEqual({ "~1": done })
  })

  test("that is not there is not created, nor is one without a spec changed", () => {
    for (const object of [{}, { spec: {} }, { spec: { template: null } }, { spec: { template: { metadata: {} } } }])
      expect(placePods(object, ["/spec/template", "/spec/*/template", "/spec/0"], change)).toEqual(object)
  })

  test("of each path is changed", () => {
    expect(placePods({ a: template, b: template, c: template }, ["/a", "/b"], change)).toEqual({
      a: done,
      b: done,
      c: template,
    })
  })
})

describe("Whatever an object contains", () => {
  const spec = fc
    .record(
      { nodeSelector: jsonValue, tolerations: jsonValue, containers: fc.array(jsonValue), other: jsonValue },
      { requiredKeys: [] },
    )
    .map((record) => objectOf(Object.entries(record)))
  const object = fc.record({ metadata: jsonValue, spec: fc.oneof(spec, jsonValue) })

  test("it is never changed, and placing its pods twice is placing them once", () => {
    fc.assert(
      fc.property(object, (given) => {
        const whole = { template: given, list: [given, given] }
        const paths = ["/template", "/list/*"]
        const before = formatExactJson(whole)
        const once = placePods(whole, paths, change)
        expect(formatExactJson(whole)).toBe(before)
        expect(formatExactJson(placePods(once, paths, change))).toBe(formatExactJson(once))
      }),
    )
  })
})

test("nothing is changed at a path that leads to something other than an object", () => {
  const value = { a: [1, "x", null, { b: 2 }] }
  expect(changedAt(value, ["a", "*"], () => ({ changed: true }))).toEqual({ a: [1, "x", null, { changed: true }] })
})

const training = "ml.example.com/v1.Training"
const template = { metadata: {}, spec: { containers: [{ name: "a", image: "a" }] } }

const placeIn = (object: JsonObject, gvk = training): string | undefined => {
  const templates = new UnknownTemplates()
  templates.search(gvk, object)
  return / at "(.*?)",/.exec(templates.warnings.join())?.[1]
}

test("a pod template in a custom kind is found wherever it is, and named by its pointer", () => {
  expect(placeIn({ spec: { template } })).toBe("/spec/template")
  expect(placeIn({ spec: { roles: [{}, { "a/b~": template }] } })).toBe("/spec/roles/*/a~1b~0")
  expect(placeIn({ template })).toBe("/template")
  expect(placeIn({ spec: template.spec })).toBe("")
})

test("what only looks a little like one is none, and neither is a status", () => {
  expect(placeIn({ spec: { template: { spec: { containers: [] } } } })).toBeUndefined()
  expect(placeIn({ spec: { template: { spec: { containers: ["a"] } } } })).toBeUndefined()
  expect(placeIn({ spec: { containers: [{ name: "a" }] } })).toBeUndefined()
  expect(placeIn({ status: { template }, metadata: { template } })).toBeUndefined()
})

test("built-in kinds are not searched, and of other kinds only the first objects", () => {
  expect(placeIn({ spec: { template } }, "batch/v1.Job")).toBeUndefined()
  const templates = new UnknownTemplates()
  for (let index = 0; index < 20; index++) templates.search(training, { spec: {} })
  templates.search(training, { spec: { template } })
  expect(templates.warnings).toEqual([])
})

const recorded = (kinds: ReadonlyArray<string>, included: ReadonlyArray<string> = []): RecordedKinds => ({
  has: (gvk) => kinds.includes(gvk),
  included: new Set(included),
})
const nothing = recorded([])

const ownedBy = (apiVersion: string, kind: string, controller = true): JsonObject => ({
  metadata: { name: "web-1", ownerReferences: [{ apiVersion, kind, name: "web", uid: "u", controller }] },
})

test("a GVK without its version is a group and a kind, or a kind of the core group", () => {
  expect(
    ["v1.Pod", "apps/v1.Deployment", "storage.k8s.io/v1.CSINode", "example.com/v1beta1.Web"].map(kindWithoutVersion),
  ).toEqual(["Pod", "apps/Deployment", "storage.k8s.io/CSINode", "example.com/Web"])
})

describe("By its kind", () => {
  test.each([
    ["v1.Node", "belongs to the machines of the recorded cluster"],
    ["coordination.k8s.io/v1.Lease", "belongs to the machines of the recorded cluster"],
    ["admissionregistration.k8s.io/v1.MutatingWebhookConfiguration", "controls the whole API server of the target"],
    ["flowcontrol.apiserver.k8s.io/v1beta3.FlowSchema", "controls the whole API server of the target"],
    ["discovery.k8s.io/v1.EndpointSlice", "the target's controllers write their own"],
    ["events.k8s.io/v1.Event", "the target's controllers write their own"],
    ["networking.k8s.io/v1.IPAddress", "the target's controllers write their own"],
    ["networking.k8s.io/v1.ServiceCIDR", "controls the whole API server of the target"],
    ["resource.k8s.io/v1.ResourceSlice", "belongs to the machines of the recorded cluster"],
  ])("a %s %s, in any version, unless it is included", (gvk, reason) => {
    expect(reasonNotToReplay(gvk, {}, "a", nothing)).toBe(reason)
    expect(reasonNotToReplay(gvk, undefined, "a", nothing)).toBe(reason)
    expect(reasonNotToReplay(gvk, {}, "a", recorded([], [kindWithoutVersion(gvk)]))).toBeUndefined()
  })

  test("a custom kind of the same name is replayed", () => {
    for (const kind of notReplayedKinds.keys()) {
      const custom = `example.com/v1.${kind.slice(kind.indexOf("/") + 1)}`
      expect(reasonNotToReplay(custom, {}, "a", nothing)).toBeUndefined()
    }
  })
})

describe("Of what every cluster has", () => {
  test.each([
    ["v1.ServiceAccount", "default", "created with every namespace"],
    ["v1.ConfigMap", "kube-root-ca.crt", "created with every namespace"],
    ["rbac.authorization.k8s.io/v1.ClusterRole", "system:node", "every cluster has its own"],
    ["rbac.authorization.k8s.io/v1.ClusterRole", "edit", "every cluster has its own"],
    ["rbac.authorization.k8s.io/v1.ClusterRoleBinding", "cluster-admin", "every cluster has its own"],
    ["scheduling.k8s.io/v1.PriorityClass", "system-node-critical", "every cluster has its own"],
  ])("the %s %s is not replayed, and others of its kind are", (gvk, name, reason) => {
    expect(reasonNotToReplay(gvk, {}, name, nothing)).toBe(reason)
    expect(reasonNotToReplay(gvk, {}, "web", nothing)).toBeUndefined()
  })

  test("a namespaced Role named like a system role is replayed", () => {
    expect(isSystemNamed("rbac.authorization.k8s.io/v1.Role", "system:web")).toBe(false)
  })
})

test("a Secret with a token is not replayed, and other Secrets are", () => {
  const reason = (type: string) => reasonNotToReplay("v1.Secret", { type }, "web", nothing)
  expect(reason("kubernetes.io/service-account-token")).toBe("contains a token of the recorded cluster")
  expect(reason("Opaque")).toBeUndefined()
})

test("a mirror pod is not replayed, whether its node is in the trace or not", () => {
  const mirror = { metadata: { annotations: { "kubernetes.io/config.mirror": "hash" } } }
  expect(reasonNotToReplay("v1.Pod", mirror, "etcd-node", nothing)).toBe("created by the kubelet of a node")
  expect(reasonNotToReplay("v1.Pod", { metadata: { annotations: {} } }, "bare", nothing)).toBeUndefined()
})

describe("An owned object", () => {
  const pod = "v1.Pod"
  const reasonOf = (object: JsonObject, ...kinds: ReadonlyArray<string>) =>
    reasonNotToReplay(pod, object, "web-1", recorded(kinds))

  test("is created by its controlling owner, if that kind is in the trace", () => {
    expect(reasonOf(ownedBy("apps/v1", "StatefulSet"), "apps/v1.StatefulSet")).toBe("created by its StatefulSet")
    expect(reasonOf(ownedBy("example.com/v1", "Web"), "example.com/v1.Web")).toBe(
      "left to the controller of its Web, if the target has one",
    )
  })

  test("is replayed if the kind of its owner is not in the trace, or only in another version", () => {
    expect(reasonOf(ownedBy("apps/v1", "StatefulSet"), "v1.Pod", "apps/v1beta1.StatefulSet")).toBeUndefined()
  })

  test("that is a DaemonSet's pod is tied to its node, and replayed only with that", () => {
    const object = ownedBy("apps/v1", "DaemonSet")
    expect(reasonOf(object)).toBe("is tied to a node of the recorded cluster")
    expect(reasonOf(object, "apps/v1.DaemonSet")).toBe("created by its DaemonSet")
    const withNodes = { has: () => false, included: new Set(["Node"]) }
    expect(reasonNotToReplay(pod, object, "agent-1", withNodes)).toBeUndefined()
  })

  test("is replayed if its owner does not control it", () => {
    expect(reasonOf(ownedBy("apps/v1", "StatefulSet", false), "apps/v1.StatefulSet")).toBeUndefined()
  })

  test("is created by the owner of its owner, if the trace lacks what is between them", () => {
    expect(reasonOf(ownedBy("apps/v1", "ReplicaSet"), "apps/v1.Deployment")).toBe("created by its ReplicaSet")
    expect(reasonOf(ownedBy("batch/v1", "Job"), "batch/v1.CronJob")).toBe("created by its Job")
    expect(reasonOf(ownedBy("batch/v1", "Job"), "apps/v1.Deployment")).toBeUndefined()
  })

  test("is replayed if its references cannot be read", () => {
    for (const ownerReferences of [null, {}, "web", ["web", null]])
      expect(reasonOf({ metadata: { ownerReferences } }, "apps/v1.Deployment")).toBeUndefined()
    expect(reasonOf({ metadata: null }, "apps/v1.Deployment")).toBeUndefined()
  })
})
