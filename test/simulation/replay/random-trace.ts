/**
 * Random traces with custom kinds, owners, cluster-scoped objects and what is not replayed.
 */
import fc from "fast-check"
import type { TraceItem } from "../../../src/trace/index.ts"

const start = 1_763_700_000_000_000

/** An object of the trace; `variant` changes it. */
interface Subject {
  readonly gvk: string
  readonly namespace: string
  readonly name: string
  readonly content: (variant: number) => object
}

const labelled = (variant: number, more: object = {}): object => ({
  metadata: { labels: { variant: String(variant) } },
  ...more,
})

const definition = (kind: string, scope: string): Subject => ({
  gvk: "apiextensions.k8s.io/v1.CustomResourceDefinition",
  namespace: "",
  name: `${kind.toLowerCase()}s.example.com`,
  content: (variant) =>
    labelled(variant, {
      spec: {
        group: "example.com",
        scope,
        names: { plural: `${kind.toLowerCase()}s`, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
        versions: [
          {
            name: "v1",
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
          },
        ],
      },
    }),
})

const subject = (gvk: string, namespace: string, name: string, content: Subject["content"]): Subject => ({
  gvk,
  namespace,
  name,
  content,
})

const owner = (apiVersion: string, kind: string, name: string, controller = false) => [
  { apiVersion, kind, name, uid: "recorded", ...(controller && { controller }) },
]

const podTemplate = {
  metadata: { labels: { app: "web" } },
  spec: {
    priorityClassName: "fast",
    tolerations: [{ key: "own", operator: "Exists" }],
    containers: [{ name: "web", image: "web:1", ports: [{ containerPort: 80 }] }],
  },
}
const workload = (variant: number) => ({
  replicas: variant,
  selector: { matchLabels: { app: "web" } },
  template: podTemplate,
})

/** Their definitions come first, so that a trace never has an object without its kind. */
const definitions = [definition("App", "Namespaced"), definition("Region", "Cluster")]

const subjects: ReadonlyArray<Subject> = [
  subject("example.com/v1.App", "shop", "one", (variant) => labelled(variant, { spec: { size: variant } })),
  subject("example.com/v1.Region", "", "eu", (variant) => labelled(variant, { spec: { zones: [variant] } })),
  subject("scheduling.k8s.io/v1.PriorityClass", "", "fast", (variant) => labelled(variant, { value: 10 })),
  subject("v1.Namespace", "", "shop", (variant) => labelled(variant)),
  subject("apps/v1.Deployment", "shop", "web", (variant) => ({
    metadata: { ownerReferences: owner("example.com/v1", "App", "one"), annotations: { note: String(variant) } },
    spec: workload(variant),
    status: { replicas: 7 },
  })),
  subject("v1.ConfigMap", "shop", "settings", (variant) => ({
    metadata: { ownerReferences: owner("apps/v1", "Deployment", "web") },
    data: { variant: String(variant) },
  })),
  subject("v1.ConfigMap", "shop", "of-region", (variant) => ({
    metadata: { ownerReferences: owner("example.com/v1", "Region", "eu") },
    data: { variant: String(variant) },
  })),
  subject("apps/v1.ReplicaSet", "shop", "web-1", (variant) => ({
    metadata: { ownerReferences: owner("apps/v1", "Deployment", "web", true) },
    spec: workload(variant),
  })),
  subject("v1.ConfigMap", "other", "alone", (variant) => ({ data: { variant: String(variant) } })),
  subject("rbac.authorization.k8s.io/v1.ClusterRole", "", "reader", (variant) =>
    labelled(variant, { rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }] }),
  ),
  subject("rbac.authorization.k8s.io/v1.ClusterRoleBinding", "", "reader", (variant) =>
    labelled(variant, {
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "reader" },
      subjects: [{ kind: "ServiceAccount", name: "web", namespace: "shop" }],
    }),
  ),
  subject("v1.PersistentVolumeClaim", "shop", "disk", (variant) =>
    labelled(variant, {
      spec: {
        accessModes: ["ReadWriteOnce"],
        storageClassName: "ssd",
        resources: { requests: { storage: "1Gi" } },
      },
    }),
  ),
  subject("v1.Node", "", "node-1", (variant) => labelled(variant)),
]

/** What happens to one of them: a state, or its end. */
export interface Change {
  readonly which: Subject
  readonly variant: number | undefined
}

/** Deletions of namespaces are left out: a cluster deletes their objects before, one by one. */
export const change: fc.Arbitrary<Change> = fc
  .tuple(fc.constantFrom(...subjects), fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined, freq: 4 }))
  .map(([which, variant]) => ({ which, variant: which.gvk === "v1.Namespace" ? (variant ?? 1) : variant }))

/** What others name: owners, classes. A cluster deletes with an owner what it owns, which these traces do not tell. */
const named = subjects.slice(0, 5)

/** The same story, but what is named exists from the start to the end, so that the state at the end is that of a cluster. */
export const withLastingOwners = (changes: ReadonlyArray<Change>): ReadonlyArray<Change> => [
  ...named.map((which) => ({ which, variant: 1 })),
  ...changes.map(({ which, variant }) => ({ which, variant: named.includes(which) ? (variant ?? 1) : variant })),
]

/** A change every `stepMicros`. */
export const traceOf = (changes: ReadonlyArray<Change>, stepMicros = 1000): ReadonlyArray<TraceItem> => {
  const all = [...definitions.map((which) => ({ which, variant: 1 })), ...changes]
  const kinds = [...new Set([...definitions, ...subjects].map(({ gvk }) => gvk))]
  const header: TraceItem = {
    type: "header",
    window: { start, end: start + all.length * stepMicros },
    cut: 1,
    kinds,
    incomplete: [],
  }
  return [
    header,
    ...all.map(({ which: { gvk, namespace, name, content }, variant }, index): TraceItem => {
      const [, group, kind] = /^(.*)\.([^.]+)$/.exec(gvk) ?? []
      const { metadata, ...members } = (variant === undefined ? {} : content(variant)) as { metadata?: object }
      const object = {
        apiVersion: group,
        kind,
        metadata: { ...metadata, name, ...(namespace && { namespace }) },
        ...members,
      }
      return {
        type: "event",
        isSnapshot: false,
        event: {
          type: "object",
          sequence: index + 1,
          time: start + index * stepMicros,
          gvk,
          action: variant === undefined ? "deleted" : "applied",
          uid: `recorded-${name}`,
          namespace,
          name,
          resourceVersion: String(index),
          object: Buffer.from(JSON.stringify(object)),
        },
      }
    }),
  ]
}

/** A trace as a replay reads it. */
export async function* chunks(items: ReadonlyArray<TraceItem>): AsyncGenerator<ReadonlyArray<TraceItem>> {
  yield items
}
