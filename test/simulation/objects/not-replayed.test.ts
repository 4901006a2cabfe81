import { describe, expect, test } from "vitest"
import {
  isSystemNamed,
  notReplayedKinds,
  type RecordedKinds,
  reasonNotToReplay,
} from "../../../src/simulation/objects/not-replayed.ts"
import type { JsonObject } from "../../../src/trace/index.ts"
import { kindWithoutVersion } from "../../../src/trace/sanitising/built-in-kinds.ts"

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
