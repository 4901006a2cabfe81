import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  withNewNamespacesInPod,
  withNewNamespacesInPolicy,
} from "../../../src/simulation/objects/renamed-references.ts"
import {
  contained,
  type Rewriting,
  type TargetPlace,
  targetNamespace,
  targetObject,
  targetPlace,
  withOwners,
} from "../../../src/simulation/objects/target-object.ts"
import { formatExactJson, type IsInTrace, type JsonObject, parseExactJson } from "../../../src/trace/index.ts"
import { jsonObject, jsonValue } from "../../trace/json-values.ts"

const newName = (namespace: string): string => `virtual-${namespace}`
const byName = (name: string): JsonObject => ({ matchLabels: { team: "a", "kubernetes.io/metadata.name": name } })
const among = (operator: string, ...values: ReadonlyArray<string>): JsonObject => ({
  matchExpressions: [
    { key: "kubernetes.io/metadata.name", operator, values },
    { key: "team", operator: "In", values: ["shop"] },
  ],
})

describe("Namespaces of the replay are meant", () => {
  test("by the peers of a network policy", () => {
    const policy = (shop: string, bank: string): JsonObject => ({
      spec: {
        podSelector: { matchLabels: { "kubernetes.io/metadata.name": "shop" } },
        ingress: [{ from: [{ namespaceSelector: byName(shop) }, { podSelector: {} }] }, {}],
        egress: [{ to: [{ namespaceSelector: among("NotIn", shop, bank), podSelector: {} }], ports: [{ port: 53 }] }],
      },
    })
    expect(withNewNamespacesInPolicy(policy("shop", "bank"), newName)).toEqual(policy("virtual-shop", "virtual-bank"))
  })

  test("by the affinity of pods, required and preferred, by name and by label", () => {
    const terms = (shop: string): JsonObject => ({
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: "zone", namespaces: [shop, shop], namespaceSelector: byName(shop) },
      ],
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 1, podAffinityTerm: { topologyKey: "zone", namespaceSelector: among("In", shop) } },
      ],
    })
    const spec = (shop: string): JsonObject => ({
      containers: [],
      affinity: { nodeAffinity: { namespaces: ["shop"] }, podAffinity: terms(shop), podAntiAffinity: terms(shop) },
    })
    expect(withNewNamespacesInPod(spec("shop"), newName)).toEqual(spec("virtual-shop"))
  })

  test("in the objects that a replay writes, also in pod templates", () => {
    const term = (name: string): JsonObject => ({ topologyKey: "zone", namespaces: [name] })
    const affinity = (name: string): JsonObject => ({
      podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term(name)] },
    })
    const deployment = (name: string): JsonObject => ({ spec: { template: { spec: { affinity: affinity(name) } } } })
    expect(bodyOf("apps/v1.Deployment", deployment("shop"))).toMatchObject(deployment("virtual-shop"))
    const from = (name: string): JsonObject => ({
      spec: { ingress: [{ from: [{ namespaceSelector: byName(name) }] }] },
    })
    expect(bodyOf("networking.k8s.io/v1.NetworkPolicy", from("shop"))).toMatchObject(from("virtual-shop"))
  })
})

test("What selects no namespace by name stays as it is", () => {
  const exists = { matchExpressions: [{ key: "kubernetes.io/metadata.name", operator: "Exists" }] }
  const policy = {
    spec: { ingress: [{ from: [{ namespaceSelector: exists }, { namespaceSelector: {} }, null, "x"] }] },
  }
  expect(withNewNamespacesInPolicy(policy, newName)).toEqual(policy)
  const spec = {
    affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ namespaces: "shop" }] } },
  }
  expect(withNewNamespacesInPod(spec, newName)).toEqual(spec)
})

test("a class is no default, a role adds no rules to the cluster's own, and users and groups get no rights", () => {
  const storage = {
    metadata: { annotations: { "storageclass.kubernetes.io/is-default-class": "true", team: "a" } },
    provisioner: "x",
  }
  expect(contained("storage.k8s.io/v1.StorageClass", storage)).toEqual({
    metadata: { annotations: { team: "a" } },
    provisioner: "x",
  })
  expect(contained("scheduling.k8s.io/v1.PriorityClass", { value: 1, globalDefault: true })).toEqual({ value: 1 })
  const role = { metadata: { labels: { "rbac.authorization.k8s.io/aggregate-to-admin": "true" } }, rules: [] }
  expect(contained("rbac.authorization.k8s.io/v1.ClusterRole", role)).toEqual({ metadata: { labels: {} }, rules: [] })
  const service = { kind: "ServiceAccount", namespace: "virtual-shop", name: "web" }
  const subjects = [service, { kind: "Group", name: "system:authenticated" }, { kind: "User", name: "ann" }]
  expect(contained("rbac.authorization.k8s.io/v1.ClusterRoleBinding", { subjects })).toEqual({ subjects: [service] })
  expect(storage.metadata.annotations).toHaveProperty("team")
})

test("all other objects stay as they are", () => {
  const object = { metadata: { annotations: { "storageclass.kubernetes.io/is-default-class": "true" } } }
  expect(contained("v1.ConfigMap", object)).toBe(object)
})

const root = { apiVersion: "v1", kind: "Namespace", name: "kubereel-replay-test", uid: "root-uid" }
const rewriting: Rewriting = {
  replay: "test",
  root,
  namespacePrefix: "virtual",
  placement: { nodeSelector: { type: "virtual" }, taintKey: undefined },
  templatePaths: () => undefined,
  isReplayed: () => true,
}
const labels = { "kubereel.dev/replay": "test", "simkube.io/virtual": "true" }
const nothing: IsInTrace = () => false

const placeOf = (gvk: string, namespace: string, name: string, given = rewriting): TargetPlace => {
  const place = targetPlace(gvk, namespace, name, given)
  if (place === undefined) throw new Error("too long")
  return place
}
const objectOf = (gvk: string, object: JsonObject, given = rewriting, isInTrace = nothing, namespace = "shop") =>
  targetObject(object, placeOf(gvk, namespace, "web", given), namespace, given, isInTrace)
const bodyOf = (gvk: string, object: JsonObject, given = rewriting): JsonObject => objectOf(gvk, object, given).body

describe("The place of an object", () => {
  test("of a namespace is a namespace with the prefix, under the same name", () => {
    expect(targetPlace("v1.Pod", "shop", "web", rewriting)).toEqual({
      gvk: "v1.Pod",
      namespace: "virtual-shop",
      name: "web",
    })
  })

  test("without namespace is a name with the prefix, for namespaces too", () => {
    const nameOf = (gvk: string): unknown => targetPlace(gvk, "", "fast", rewriting)
    expect(nameOf("v1.Namespace")).toEqual({ gvk: "v1.Namespace", namespace: "", name: "virtual-fast" })
    expect(nameOf("storage.k8s.io/v1.StorageClass")).toMatchObject({ namespace: "", name: "virtual-fast" })
  })

  test.each([
    ["apiextensions.k8s.io/v1.CustomResourceDefinition", "webs.example.com"],
    ["apiextensions.crossplane.io/v2.CompositeResourceDefinition", "xwebs.example.com"],
    ["apiregistration.k8s.io/v1.APIService", "v1beta1.metrics.k8s.io"],
    ["networking.k8s.io/v1.IPAddress", "10.0.0.1"],
    ["networking.k8s.io/v1beta1.IPAddress", "2001:db8::1"],
    ["storage.k8s.io/v1.CSIDriver", "ebs.csi.aws.com"],
    ["storage.k8s.io/v1.CSINode", "node-1"],
    ["v1.Node", "node-1"],
    ["certificates.k8s.io/v1beta1.ClusterTrustBundle", "example.com:signer:roots"],
    ["internal.apiserver.k8s.io/v1alpha1.StorageVersion", "apps.deployments"],
  ])("of a %s keeps its name, whose form is prescribed", (gvk, name) => {
    expect(targetPlace(gvk, "", name, rewriting)?.name).toBe(name)
  })

  test("of a custom kind that is only called like one of those has the prefix", () => {
    expect(targetPlace("example.com/v1.IPAddress", "", "10.0.0.1", rewriting)?.name).toBe("virtual-10.0.0.1")
  })

  test("is the same without a prefix", () => {
    const same = { ...rewriting, namespacePrefix: "" }
    expect(targetPlace("v1.Pod", "shop", "web", same)).toEqual({ gvk: "v1.Pod", namespace: "shop", name: "web" })
    expect(targetPlace("v1.Namespace", "", "shop", same)?.name).toBe("shop")
  })

  test("does not exist if its namespace would have more than 63 characters", () => {
    const longest = "n".repeat(63 - "virtual-".length)
    expect(targetNamespace(longest, rewriting)).toHaveLength(63)
    expect(targetNamespace(`${longest}n`, rewriting)).toBeUndefined()
    expect(targetPlace("v1.Pod", `${longest}n`, "web", rewriting)).toBeUndefined()
    expect(targetPlace("v1.Namespace", "", `${longest}n`, rewriting)).toBeUndefined()
    // Other names may have 253 characters.
    expect(targetPlace("storage.k8s.io/v1.StorageClass", "", `${longest}n`, rewriting)?.name).toHaveLength(64)
  })
})

describe("An object", () => {
  test("belongs to the replay by its labels and its owner, besides its own labels", () => {
    const metadata = { name: "web", namespace: "shop", generateName: "web-", uid: "u", labels: { app: "web" } }
    expect(bodyOf("v1.ConfigMap", { metadata, data: { a: "1" } })).toEqual({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "web", namespace: "virtual-shop", labels: { app: "web", ...labels }, ownerReferences: [root] },
      data: { a: "1" },
    })
  })

  test("cannot keep the label of another replay", () => {
    const metadata = { name: "web", labels: { "kubereel.dev/replay": "another" } }
    expect(bodyOf("v1.ConfigMap", { metadata }).metadata).toMatchObject({ labels })
  })

  test("loses what only the recorded cluster could decide", () => {
    const body = bodyOf("v1.Service", { metadata: {}, spec: { clusterIP: "10.0.0.7", ports: [] }, status: {} })
    expect(body.spec).toEqual({ ports: [] })
    expect(body).not.toHaveProperty("status")
  })

  test("whose states differ in their status only has one body", () => {
    const state = (resourceVersion: string, readyReplicas: number): JsonObject => ({
      metadata: { name: "web", resourceVersion },
      spec: { replicas: 2 },
      status: { readyReplicas },
    })
    const gvk = "apps/v1.Deployment"
    expect(formatExactJson(bodyOf(gvk, state("1", 0)))).toBe(formatExactJson(bodyOf(gvk, state("2", 2))))
  })

  test.each([
    ["v1.Pod", (template: JsonObject): JsonObject => template],
    ["apps/v1.Deployment", (template: JsonObject): JsonObject => ({ spec: { template } })],
    ["apps/v1.ReplicaSet", (template: JsonObject): JsonObject => ({ spec: { template } })],
    ["apps/v1.StatefulSet", (template: JsonObject): JsonObject => ({ spec: { template } })],
    ["apps/v1.DaemonSet", (template: JsonObject): JsonObject => ({ spec: { template } })],
    ["batch/v1.Job", (template: JsonObject): JsonObject => ({ spec: { template } })],
    ["batch/v1.CronJob", (template: JsonObject): JsonObject => ({ spec: { jobTemplate: { spec: { template } } } })],
    ["v1.ReplicationController", (template: JsonObject): JsonObject => ({ spec: { template } })],
    ["v1.PodTemplate", (template: JsonObject): JsonObject => ({ template })],
  ])("%s has its pods placed", (gvk, around) => {
    const annotations = { "static.simkube.io/original-namespace": "shop" }
    const placed = { metadata: { annotations }, spec: { hostname: "a", nodeSelector: { type: "virtual" } } }
    expect(bodyOf(gvk, around({ spec: { hostname: "a" } }))).toMatchObject(around(placed))
  })

  test("of a custom kind has its pods placed where the trace says they are", () => {
    const custom = { ...rewriting, templatePaths: () => ["/spec/tasks/*/template"] }
    const spec = { tasks: [{ template: { spec: {} } }] }
    expect(bodyOf("example.com/v1.Web", { spec }, custom).spec).toMatchObject({
      tasks: [{ template: { spec: { nodeSelector: { type: "virtual" } } } }],
    })
    expect(bodyOf("example.com/v1.Web", { spec }).spec).toEqual(spec)
  })
})

describe("A reference to a cluster-scoped object", () => {
  const classes = { priorityClassName: "fast", runtimeClassName: "gvisor" }
  const claim = { storageClassName: "ssd", volumeAttributesClassName: "gold" }
  const newClaim = { storageClassName: "virtual-ssd", volumeAttributesClassName: "virtual-gold" }

  test("gets the new name in pods and their templates, and in claims and their templates", () => {
    const volumes = (spec: JsonObject) => [{ name: "a" }, { name: "b", ephemeral: { volumeClaimTemplate: { spec } } }]
    const placed = {
      priorityClassName: "virtual-fast",
      runtimeClassName: "virtual-gvisor",
      volumes: volumes(newClaim),
    }
    const spec = { ...classes, volumes: volumes(claim) }
    expect(bodyOf("v1.Pod", { spec }).spec).toMatchObject(placed)
    expect(bodyOf("apps/v1.Deployment", { spec: { template: { spec } } }).spec).toMatchObject({
      template: { spec: placed },
    })
    expect(bodyOf("v1.PersistentVolumeClaim", { spec: claim }).spec).toEqual(newClaim)
    const set = { volumeClaimTemplates: [{ metadata: { name: "data" }, spec: claim }] }
    expect(bodyOf("apps/v1.StatefulSet", { spec: set }).spec).toEqual({
      volumeClaimTemplates: [{ metadata: { name: "data" }, spec: newClaim }],
    })
    expect(bodyOf("networking.k8s.io/v1.Ingress", { spec: { ingressClassName: "public" } }).spec).toEqual({
      ingressClassName: "virtual-public",
    })
    const devices = (gpu: string): JsonObject => ({
      devices: {
        requests: [
          { name: "a", exactly: { deviceClassName: gpu } },
          { name: "b", firstAvailable: [{ deviceClassName: gpu }] },
        ],
      },
    })
    expect(bodyOf("resource.k8s.io/v1.ResourceClaim", { spec: devices("gpu") }).spec).toEqual(devices("virtual-gpu"))
    expect(bodyOf("resource.k8s.io/v1.ResourceClaimTemplate", { spec: { spec: devices("gpu") } }).spec).toEqual({
      spec: devices("virtual-gpu"),
    })
  })

  test("keeps the name if the trace has no such object: it means the target's own", () => {
    const without = { ...rewriting, isReplayed: () => false }
    expect(bodyOf("v1.Pod", { spec: classes }, without).spec).toMatchObject(classes)
    expect(bodyOf("v1.PersistentVolumeClaim", { spec: claim }, without).spec).toEqual(claim)
  })

  test("keeps the name of what every cluster has, and an empty one, which is none", () => {
    const spec = { priorityClassName: "system-cluster-critical" }
    expect(bodyOf("v1.Pod", { spec }).spec).toMatchObject(spec)
    const unbound = { storageClassName: "" }
    expect(bodyOf("v1.PersistentVolumeClaim", { spec: unbound }).spec).toEqual(unbound)
  })
})

describe("A binding", () => {
  const gvk = "rbac.authorization.k8s.io/v1.RoleBinding"
  const bound = (kind: string, name: string): unknown => bodyOf(gvk, { roleRef: { kind, name } }).roleRef

  test("refers to the new name of a cluster role, but not to one of a role or of a role that every cluster has", () => {
    expect(bound("ClusterRole", "reader")).toEqual({ kind: "ClusterRole", name: "virtual-reader" })
    expect(bound("Role", "reader")).toEqual({ kind: "Role", name: "reader" })
    for (const name of ["system:node", "admin", "cluster-admin", "edit", "view"])
      expect(bound("ClusterRole", name)).toEqual({ kind: "ClusterRole", name })
  })

  test("has subjects in namespaces of the replay, and users as they were", () => {
    const subjects = [
      { kind: "ServiceAccount", name: "web", namespace: "shop" },
      { kind: "User", name: "carol" },
    ]
    expect(bodyOf(gvk, { subjects }).subjects).toEqual([{ ...subjects[0], namespace: "virtual-shop" }, subjects[1]])
  })
})

describe("An owner", () => {
  const reference = { apiVersion: "apps/v1", kind: "Deployment", name: "web", uid: "recorded", controller: true }
  const owned = { metadata: { name: "web-1", namespace: "shop", ownerReferences: [reference] } }
  const replicaSet = "apps/v1.ReplicaSet"
  const isDeployment: IsInTrace = (gvk, namespace) => gvk === "apps/v1.Deployment" && namespace === "shop"

  test("in the trace is kept with the UID that the target gave it, before the root", () => {
    const object = objectOf(replicaSet, owned, rewriting, isDeployment)
    expect(object.owners.map(({ place }) => place)).toEqual([
      { gvk: "apps/v1.Deployment", namespace: "virtual-shop", name: "web" },
    ])
    expect(withOwners(object, () => "given").metadata).toMatchObject({
      ownerReferences: [{ ...reference, uid: "given" }, root],
    })
  })

  test("that the target does not have is left out: the server would delete the object", () => {
    const object = objectOf(replicaSet, owned, rewriting, isDeployment)
    expect(withOwners(object, () => undefined).metadata).toMatchObject({ ownerReferences: [root] })
  })

  test("without namespace is named as the target names it", () => {
    const isScoped: IsInTrace = (_gvk, namespace) => namespace === ""
    const owner = { apiVersion: "example.com/v1", kind: "Zone", name: "a", uid: "recorded" }
    const object = objectOf("v1.ConfigMap", { metadata: { ownerReferences: [owner] } }, rewriting, isScoped)
    expect(withOwners(object, () => "given").metadata).toMatchObject({
      ownerReferences: [{ ...owner, name: "virtual-a", uid: "given" }, root],
    })
  })

  test("outside the trace is dropped", () => {
    const object = objectOf(replicaSet, owned)
    expect(object.owners).toEqual([])
    expect(withOwners(object, () => "given")).toBe(object.body)
    expect(object.body.metadata).toMatchObject({ ownerReferences: [root] })
  })
})

test("whatever an object contains, it is never changed, and equal objects have equal bodies", () => {
  const gvks = [
    "v1.Pod",
    "apps/v1.StatefulSet",
    "rbac.authorization.k8s.io/v1.RoleBinding",
    "v1.Service",
    "batch/v1.Job",
  ]
  const object = fc
    .record({ metadata: fc.oneof(jsonObject, jsonValue), spec: jsonValue, roleRef: jsonValue, subjects: jsonValue })
    .chain((members) => jsonObject.map((others): JsonObject => ({ ...others, ...members })))
  fc.assert(
    fc.property(object, fc.constantFrom(...gvks), (given, gvk) => {
      const before = formatExactJson(given)
      const body = bodyOf(gvk, given)
      expect(formatExactJson(given)).toBe(before)
      expect(formatExactJson(bodyOf(gvk, parseExactJson(before) as JsonObject))).toBe(formatExactJson(body))
      expect(body.metadata).toMatchObject({ name: "web", namespace: "virtual-shop", labels, ownerReferences: [root] })
    }),
  )
})

describe("A reference to an object in a namespace", () => {
  const claimRef = { kind: "PersistentVolumeClaim", namespace: "shop", name: "data", uid: "u", resourceVersion: "7" }

  test("means the namespace's copy; its UID is the target's affair", () => {
    const volume = bodyOf("v1.PersistentVolume", {
      metadata: { annotations: { "pv.kubernetes.io/bound-by-controller": "yes", kept: "yes" } },
      spec: { claimRef, storageClassName: "disk", persistentVolumeReclaimPolicy: "Delete" },
    })
    expect(volume).toMatchObject({
      metadata: { annotations: { kept: "yes" } },
      spec: {
        claimRef: { kind: "PersistentVolumeClaim", namespace: "virtual-shop", name: "data" },
        storageClassName: "virtual-disk",
        // The copy's removal must not delete the disk of the original.
        persistentVolumeReclaimPolicy: "Retain",
      },
    })
    expect(JSON.stringify(volume)).not.toMatch(/"resourceVersion"|bound-by-controller|"u"/)
    const slice = bodyOf("discovery.k8s.io/v1.EndpointSlice", {
      endpoints: [{ addresses: ["10.0.0.1"], nodeName: "n1", targetRef: claimRef }, {}],
    })
    expect(slice.endpoints).toEqual([
      {
        addresses: ["10.0.0.1"],
        nodeName: "n1",
        targetRef: { kind: "PersistentVolumeClaim", namespace: "virtual-shop", name: "data" },
      },
      {},
    ])
  })

  test("a claim keeps its volume under the new name if the volume is replayed, and has none otherwise", () => {
    const claim = { metadata: {}, spec: { volumeName: "pv-1", storageClassName: "" } }
    expect(bodyOf("v1.PersistentVolumeClaim", claim).spec).toEqual({ volumeName: "virtual-pv-1", storageClassName: "" })
    const without = { ...rewriting, isReplayed: () => false }
    expect(bodyOf("v1.PersistentVolumeClaim", claim, without).spec).toEqual({ storageClassName: "" })
  })
})
