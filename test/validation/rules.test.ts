/** What each rule finds, and what it leaves. */
import { describe, expect, test } from "vitest"
import { container, deployment, foundBy, object, reportOf } from "./traces.ts"

describe("W0000 status_field_populated", () => {
  test("finds a status, once for each object", () => {
    const pod = object("v1.Pod", "a", { status: { phase: "Running" } })
    expect(
      foundBy("W0000", [{ applied: [pod] }, { applied: [pod, object("v1.Service", "b", { status: {} })] }]),
    ).toEqual(["v1.Pod shop/a: ×2", "v1.Service shop/b: ×1"])
  })

  test("does not find a null status, none, or that of a deleted object", () => {
    const gone = object("v1.Pod", "gone", { status: {} })
    expect(
      foundBy("W0000", [{ applied: [object("v1.Pod", "a", { status: null }), deployment({})], deleted: [gone] }]),
    ).toEqual([])
  })
})

describe("E0001 service_account_missing", () => {
  const account = (name: string, namespace = "shop") => object("v1.ServiceAccount", name, {}, namespace)
  const missing = ["apps/v1.Deployment shop/web: ServiceAccount robot ×1"]

  test.each(["serviceAccountName", "serviceAccount"])("finds a missing account in %s", (member) => {
    expect(foundBy("E0001", [{ applied: [deployment({ [member]: "robot" })] }])).toEqual(missing)
  })

  test("counts both fields once", () => {
    const both = deployment({ serviceAccountName: "robot", serviceAccount: "robot" })
    expect(foundBy("E0001", [{ applied: [both] }])).toEqual(missing)
    const [{ findings } = { findings: [] }] = reportOf([{ applied: [both] }]).rules.filter(
      ({ rule }) => rule.code === "E0001",
    )
    expect(findings[0]?.places).toEqual([
      { element: "spec.template.spec", by: "serviceAccountName" },
      { element: "spec.template.spec", by: "serviceAccount" },
    ])
  })

  test("accepts an account of the same namespace only", () => {
    const web = deployment({ serviceAccountName: "robot" })
    expect(foundBy("E0001", [{ applied: [web, account("robot")] }])).toEqual([])
    expect(foundBy("E0001", [{ applied: [web, account("robot", "other")] }])).toEqual(missing)
    expect(foundBy("E0001", [{ applied: [web, object("example.com/v1.ServiceAccount", "robot")] }])).toEqual(missing)
  })

  test("exempts the account default, and templates without account", () => {
    expect(
      foundBy("E0001", [{ applied: [deployment({ serviceAccountName: "default" }), deployment({}, "b")] }]),
    ).toEqual([])
  })

  test.each([
    ["v1.Pod", { spec: { serviceAccountName: "robot" } }],
    ["batch/v1.CronJob", { spec: { jobTemplate: { spec: { template: { spec: { serviceAccountName: "robot" } } } } } }],
    ["apps/v1.ReplicaSet", { spec: { template: { spec: { serviceAccountName: "robot" } } } }],
  ])("looks into the pods of %s", (gvk, body) => {
    expect(foundBy("E0001", [{ applied: [object(gvk, "x", body)] }])).toEqual([
      `${gvk} shop/x: ServiceAccount robot ×1`,
    ])
  })

  test("looks at the paths of a custom kind that the trace names", () => {
    const training = object("ml.example.com/v1.Training", "x", {
      spec: { workers: [{ template: { spec: {} } }, { template: { spec: { serviceAccountName: "robot" } } }] },
    })
    const trackedObjects = { "ml.example.com/v1.Training": { podSpecTemplatePaths: ["/spec/workers/*/template"] } }
    expect(foundBy("E0001", [{ applied: [training] }], { trackedObjects })).toEqual([
      "ml.example.com/v1.Training shop/x: ServiceAccount robot ×1",
    ])
    expect(foundBy("E0001", [{ applied: [training] }])).toEqual([])
  })
})

describe.each([
  { code: "E0002", kind: "Secret", keyRef: "secretKeyRef", ref: "secretRef" },
  { code: "E0003", kind: "ConfigMap", keyRef: "configMapKeyRef", ref: "configMapRef" },
])("$code", ({ code, kind, keyRef, ref }) => {
  const missing = (name: string) => [`apps/v1.Deployment shop/web: ${kind} ${name} ×1`]
  const variable = (reference: object) => ({ env: [{ name: "A", valueFrom: { [keyRef]: reference } }] })

  test.each(["containers", "initContainers", "ephemeralContainers"])("finds variables of %s", (list) => {
    const web = deployment(container(variable({ name: "db", key: "password" }), list))
    expect(foundBy(code, [{ applied: [web] }])).toEqual(missing("db"))
    const all = deployment(container({ envFrom: [{ [ref]: { name: "all" } }] }, list))
    expect(foundBy(code, [{ applied: [all] }])).toEqual(missing("all"))
  })

  test("compares the name, not the key", () => {
    const web = deployment(container(variable({ name: "db", key: "password" })))
    expect(foundBy(code, [{ applied: [web, object(`v1.${kind}`, "db")] }])).toEqual([])
    expect(foundBy(code, [{ applied: [web, object(`v1.${kind}`, "password")] }])).toEqual(missing("db"))
  })

  test("respects namespaces", () => {
    const web = deployment(container(variable({ name: "db", key: "password" })))
    expect(foundBy(code, [{ applied: [web, object(`v1.${kind}`, "db", {}, "other")] }])).toEqual(missing("db"))
  })

  test("exempts optional references, and variables with values of their own", () => {
    const optional = { name: "db", key: "a", optional: true }
    const spec = container({
      env: [{ name: "A", value: "b" }, ...variable(optional).env],
      envFrom: [{ [ref]: optional }],
    })
    expect(foundBy(code, [{ applied: [deployment(spec)] }])).toEqual([])
  })

  test("counts states, not variables", () => {
    const web = deployment(container({ env: [1, 2].flatMap(() => variable({ name: "db", key: "a" }).env) }))
    expect(foundBy(code, [{ applied: [web] }, { applied: [web] }])).toEqual([
      `apps/v1.Deployment shop/web: ${kind} db ×2`,
    ])
  })

  test("survives null and scalars where lists and objects belong", () => {
    const specs = [
      { containers: null },
      {
        containers: [
          null,
          1,
          { env: null },
          { env: [null, { valueFrom: null }, { valueFrom: { [keyRef]: 1 } }], envFrom: {} },
        ],
      },
      { containers: [{ env: [{ valueFrom: { [keyRef]: { name: null } } }], envFrom: [{ [ref]: [] }] }] },
    ]
    expect(foundBy(code, [{ applied: specs.map((spec) => deployment(spec)) }])).toEqual([])
  })
})

describe.each([
  { code: "E0004", kind: "Secret", field: "secret", by: "secretName" },
  { code: "E0005", kind: "ConfigMap", field: "configMap", by: "name" },
])("$code", ({ code, kind, field, by }) => {
  const missing = [`apps/v1.Deployment shop/web: ${kind} data ×1`]
  const projected = (source: object) => ({
    volumes: [{ name: "v", projected: { sources: [{ serviceAccountToken: {} }, { [field]: source }] } }],
  })
  const both = (more: object = {}) => [
    { volumes: [{ name: "v", [field]: { [by]: "data", ...more } }] },
    projected({ name: "data", ...more }),
  ]

  test("finds volumes and projected sources, in the namespace of the object", () => {
    for (const spec of both()) {
      expect(foundBy(code, [{ applied: [deployment(spec)] }])).toEqual(missing)
      expect(foundBy(code, [{ applied: [deployment(spec), object(`v1.${kind}`, "data")] }])).toEqual([])
      const elsewhere = object(`v1.${kind}`, "data", {}, "other")
      expect(foundBy(code, [{ applied: [deployment(spec), elsewhere] }])).toEqual(missing)
    }
  })

  test("exempts optional references, and other volumes", () => {
    const others = {
      volumes: [{ name: "v", emptyDir: {} }, null, { [field]: null }, { projected: { sources: null } }],
    }
    const specs = [...both({ optional: true }), others]
    expect(foundBy(code, [{ applied: specs.map((spec) => deployment(spec)) }])).toEqual([])
  })

  test.runIf(kind === "ConfigMap")("exempts the ConfigMap that every namespace has", () => {
    expect(foundBy(code, [{ applied: [deployment(projected({ name: "kube-root-ca.crt" }))] }])).toEqual([])
  })
})

describe("E0006 volume_claim_missing", () => {
  const spec = { volumes: [{ name: "v", persistentVolumeClaim: { claimName: "data" } }] }
  const missing = ["apps/v1.Deployment shop/web: PersistentVolumeClaim data ×1"]

  test("finds a missing claim, in the namespace of the object", () => {
    expect(foundBy("E0006", [{ applied: [deployment(spec)] }])).toEqual(missing)
    expect(foundBy("E0006", [{ applied: [deployment(spec), object("v1.PersistentVolumeClaim", "data")] }])).toEqual([])
    const elsewhere = object("v1.PersistentVolumeClaim", "data", {}, "other")
    expect(foundBy("E0006", [{ applied: [deployment(spec), elsewhere] }])).toEqual(missing)
  })

  test("exempts claims that are made of templates", () => {
    const set = object("apps/v1.StatefulSet", "db", {
      spec: {
        volumeClaimTemplates: [{ metadata: { name: "data" } }],
        template: {
          spec: {
            volumes: [{ name: "e", ephemeral: { volumeClaimTemplate: {} } }],
            containers: [{ volumeMounts: [{ name: "data" }] }],
          },
        },
      },
    })
    expect(foundBy("E0006", [{ applied: [set] }])).toEqual([])
  })
})

describe("W0007 image_pull_secret_missing", () => {
  const web = deployment({ imagePullSecrets: [{ name: "registry" }, {}, null] })
  const missing = ["apps/v1.Deployment shop/web: Secret registry ×1"]

  test("finds a missing Secret, in the namespace of the object", () => {
    expect(foundBy("W0007", [{ applied: [web] }])).toEqual(missing)
    expect(foundBy("W0007", [{ applied: [web, object("v1.Secret", "registry", {}, "other")] }])).toEqual(missing)
    expect(foundBy("W0007", [{ applied: [web, object("v1.Secret", "registry")] }])).toEqual([])
  })
})

describe("W0008 namespace_missing", () => {
  test("finds a namespace once, and counts the states in it", () => {
    expect(
      foundBy("W0008", [{ applied: [deployment({}), deployment({}, "b")] }, { applied: [deployment({})] }]),
    ).toEqual(["v1.Namespace shop: Namespace shop ×3"])
  })

  test("accepts a namespace of the trace until it is deleted", () => {
    const shop = object("v1.Namespace", "shop", {}, "")
    expect(foundBy("W0008", [{ applied: [deployment({}), shop] }])).toEqual([])
    expect(foundBy("W0008", [{ applied: [shop] }, { deleted: [shop] }, { applied: [deployment({})] }])).toEqual([
      "v1.Namespace shop: Namespace shop ×1",
    ])
  })

  test("exempts namespaces that every cluster has, and objects that are in none", () => {
    const everywhere = ["default", "kube-system", "kube-public", "kube-node-lease", ""]
    expect(foundBy("W0008", [{ applied: everywhere.map((namespace) => deployment({}, "web", namespace)) }])).toEqual([])
  })
})

describe("E0009 kind_undefined", () => {
  const training = object("ml.example.com/v1.Training", "x")
  const definition = (group: string, kind: string) =>
    object("apiextensions.k8s.io/v1.CustomResourceDefinition", `any.${group}`, { spec: { group, names: { kind } } }, "")
  const missing = ["ml.example.com/v1.Training: CustomResourceDefinition ml.example.com/Training ×2"]

  test("finds a custom kind once, and counts its states", () => {
    expect(foundBy("E0009", [{ applied: [training, object("ml.example.com/v1.Training", "y")] }])).toEqual(missing)
  })

  test("accepts a kind whose definition is in the trace, in any version", () => {
    const beta = object("ml.example.com/v1beta1.Training", "z")
    expect(foundBy("E0009", [{ applied: [training, beta, definition("ml.example.com", "Training")] }])).toEqual([])
  })

  test("does not accept definitions of other kinds, nor broken ones", () => {
    const others = [definition("ml.example.com", "Model"), definition("example.com", "Training")]
    const broken = object("apiextensions.k8s.io/v1.CustomResourceDefinition", "b", { spec: null }, "")
    expect(foundBy("E0009", [{ applied: [training, training, ...others, broken] }])).toEqual(missing)
  })

  test("exempts the kinds of Kubernetes", () => {
    expect(
      foundBy("E0009", [
        { applied: [deployment({}), object("v1.Pod", "a"), object("networking.k8s.io/v1.Ingress", "b")] },
      ]),
    ).toEqual([])
  })
})

describe("E0010 owner_missing", () => {
  const owned = (owner: object | null) => object("v1.Pod", "p", { metadata: { ownerReferences: [owner] } })
  const bySet = owned({ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "u" })
  const missing = ["v1.Pod shop/p: apps/ReplicaSet web ×1"]

  test("finds an owner that the trace does not have, in the namespace of the object", () => {
    expect(foundBy("E0010", [{ applied: [bySet] }])).toEqual(missing)
    expect(foundBy("E0010", [{ applied: [bySet, object("apps/v1.ReplicaSet", "web", {}, "other")] }])).toEqual(missing)
    expect(foundBy("E0010", [{ applied: [bySet, object("apps/v1.Deployment", "web")] }])).toEqual(missing)
    expect(foundBy("E0010", [{ applied: [bySet, object("apps/v1.ReplicaSet", "web")] }])).toEqual([])
  })

  test("accepts an owner without namespace, and another version of its kind", () => {
    const byNode = owned({ apiVersion: "v1", kind: "Node", name: "n" })
    expect(foundBy("E0010", [{ applied: [byNode, object("v1.Node", "n", {}, "")] }])).toEqual([])
    const byBeta = owned({ apiVersion: "apps/v1beta2", kind: "ReplicaSet", name: "web" })
    expect(foundBy("E0010", [{ applied: [byBeta, object("apps/v1.ReplicaSet", "web")] }])).toEqual([])
  })

  test("ignores what is no owner reference", () => {
    expect(
      foundBy("E0010", [
        { applied: [owned(null), owned({}), object("v1.Pod", "q", { metadata: { ownerReferences: null } })] },
      ]),
    ).toEqual([])
  })
})

describe.each([
  { code: "E0011", member: "priorityClassName", group: "scheduling.k8s.io", kind: "PriorityClass" },
  { code: "E0013", member: "runtimeClassName", group: "node.k8s.io", kind: "RuntimeClass" },
])("$code", ({ code, member, group, kind }) => {
  test("finds a class that the trace does not have", () => {
    const web = deployment({ [member]: "fast" })
    const missing = [`apps/v1.Deployment shop/web: ${group}/${kind} fast ×1`]
    expect(foundBy(code, [{ applied: [web] }])).toEqual(missing)
    expect(foundBy(code, [{ applied: [web, object(`${group}/v1.${kind}`, "fast", {}, "")] }])).toEqual([])
    expect(foundBy(code, [{ applied: [web, object(`${group}/v1.${kind}`, "slow", {}, "")] }])).toEqual(missing)
  })

  test("ignores templates without class", () => {
    const without = [{}, { [member]: "" }, { [member]: null }].map((spec) => deployment(spec))
    expect(foundBy(code, [{ applied: without }])).toEqual([])
  })
})

test("E0011 exempts the classes of Kubernetes itself", () => {
  expect(foundBy("E0011", [{ applied: [deployment({ priorityClassName: "system-node-critical" })] }])).toEqual([])
})

describe("E0012 storage_class_missing", () => {
  const wanted = { storageClassName: "ssd" }
  const claims = [
    ["v1.PersistentVolumeClaim", object("v1.PersistentVolumeClaim", "web", { spec: wanted })],
    [
      "apps/v1.StatefulSet",
      object("apps/v1.StatefulSet", "web", { spec: { volumeClaimTemplates: [null, { spec: wanted }] } }),
    ],
    [
      "apps/v1.Deployment",
      deployment({ volumes: [{ name: "e", ephemeral: { volumeClaimTemplate: { spec: wanted } } }] }),
    ],
  ] as const

  test.each(claims)("finds a missing class in %s", (gvk, claim) => {
    expect(foundBy("E0012", [{ applied: [claim] }])).toEqual([`${gvk} shop/web: storage.k8s.io/StorageClass ssd ×1`])
    expect(foundBy("E0012", [{ applied: [claim, object("storage.k8s.io/v1.StorageClass", "ssd", {}, "")] }])).toEqual(
      [],
    )
  })

  test("exempts claims for volumes without class", () => {
    const none = ["", null, undefined].map((storageClassName) =>
      object("v1.PersistentVolumeClaim", "c", { spec: { storageClassName } }),
    )
    expect(foundBy("E0012", [{ applied: [...none, object("v1.PersistentVolumeClaim", "d", { spec: null })] }])).toEqual(
      [],
    )
  })
})

describe("E0014 name_too_long", () => {
  const long = (length: number) => "n".repeat(length)

  test("finds a namespace of which 63 characters are exceeded with the prefix", () => {
    expect(
      foundBy("E0014", [{ applied: [deployment({}, "web", long(55)), object("v1.Namespace", long(55), {}, "")] }]),
    ).toEqual([])
    expect(
      foundBy("E0014", [{ applied: [deployment({}, "web", long(56)), object("v1.Namespace", long(56), {}, "")] }]),
    ).toEqual([`v1.Namespace ${long(56)}: name virtual-${long(56)} ×2`])
  })

  test("uses the prefix of the replay", () => {
    const events = [{ applied: [deployment({}, "web", long(56))] }]
    expect(foundBy("E0014", events, { namespacePrefix: "v" })).toEqual([])
    expect(foundBy("E0014", events, { namespacePrefix: "" })).toEqual([])
  })

  test("finds other objects without namespace beyond 253 characters, but not definitions, which keep their names", () => {
    const volume = (length: number) => object("v1.PersistentVolume", long(length), {}, "")
    expect(foundBy("E0014", [{ applied: [volume(245)] }])).toEqual([])
    expect(foundBy("E0014", [{ applied: [volume(246)] }])).toHaveLength(1)
    const definition = object("apiextensions.k8s.io/v1.CustomResourceDefinition", long(250), {}, "")
    expect(foundBy("E0014", [{ applied: [definition] }])).toEqual([])
  })
})

describe("E0015 template_path_missing", () => {
  const gvk = "ml.example.com/v1.Training"
  const trackedObjects = { [gvk]: { podSpecTemplatePaths: ["/spec/workers/*/template", "/spec/leader"] } }
  const training = (spec: object | null) => object(gvk, "x", { spec })
  const template = { spec: { containers: [] } }

  test("finds a path at which no object has a template", () => {
    const events = [{ applied: [training({ workers: [{ template }] })] }, { applied: [training(null)] }]
    expect(foundBy("E0015", events, { trackedObjects })).toEqual([`${gvk}: pod template /spec/leader ×2`])
  })

  test("accepts a path at which any object has one, even a later one", () => {
    const events = [
      { applied: [training({ workers: [] })] },
      { applied: [training({ workers: [{ template }], leader: template })] },
    ]
    expect(foundBy("E0015", events, { trackedObjects })).toEqual([])
  })

  test("exempts kinds of Kubernetes, of which SimKube knows a wrong path", () => {
    const set = object("apps/v1.ReplicaSet", "x", { spec: { template } })
    expect(
      foundBy("E0015", [{ applied: [set] }], {
        trackedObjects: { "apps/v1.ReplicaSet": { podSpecTemplatePaths: ["/spec"] } },
      }),
    ).toEqual([])
  })
})

describe("E0016 identity_missing", () => {
  test("finds objects without kind, without name and without metadata", () => {
    const applied = [
      { metadata: { name: "a", namespace: "shop" } },
      { apiVersion: "v1", kind: "Pod", metadata: {} },
      { apiVersion: "v1", kind: "Service" },
    ]
    expect(foundBy("E0016", [{ applied }])).toEqual(["shop/a: ×1", "v1.Pod: ×1", "v1.Service: ×1"])
  })
})
