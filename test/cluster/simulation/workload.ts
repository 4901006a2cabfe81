/** One object of every built-in kind that people write into a namespace, with the defaults of `kubectl create`. */
import type { ApiObject } from "../../../src/kube/index.ts"

const object = (apiVersion: string, kind: string, name: string, members: object): ApiObject => ({
  apiVersion,
  kind,
  metadata: { name },
  ...members,
})

const podSpec = { containers: [{ name: "web", image: "web", ports: [{ containerPort: 80 }] }] }
const finite = { ...podSpec, restartPolicy: "Never" }
const labelled = (app: string) => ({
  selector: { matchLabels: { app } },
  template: { metadata: { labels: { app } }, spec: podSpec },
})
const claimSpec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }
const port = { name: "http", port: 80 }

/** Cluster-scoped objects that the others use; the claim `bound` binds to the volume. */
export const clusterObjects = (id: string): ReadonlyArray<ApiObject> => [
  object("scheduling.k8s.io/v1", "PriorityClass", `fast-${id}`, { value: 1000 }),
  object("storage.k8s.io/v1", "StorageClass", `disk-${id}`, { provisioner: "example.com/none" }),
  object("v1", "PersistentVolume", `volume-${id}`, {
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      hostPath: { path: "/nowhere" },
      claimRef: { namespace: `replayed-${id}`, name: "bound" },
    },
  }),
]

/** Namespaced objects, without their namespace, in an order in which they can be created. */
export const namespacedObjects = (id: string): ReadonlyArray<ApiObject> => [
  object("v1", "ConfigMap", "settings", { data: { a: "1" } }),
  object("v1", "Secret", "password", { stringData: { password: "x" } }),
  object("v1", "ServiceAccount", "web", {}),
  object("rbac.authorization.k8s.io/v1", "Role", "reader", {
    rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }],
  }),
  object("rbac.authorization.k8s.io/v1", "RoleBinding", "reader", {
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" },
    subjects: [{ kind: "ServiceAccount", name: "web", namespace: `replayed-${id}` }],
  }),
  object("v1", "Service", "inner", { spec: { selector: { app: "web" }, ports: [port] } }),
  object("v1", "Service", "node-port", { spec: { type: "NodePort", selector: { app: "web" }, ports: [port] } }),
  object("v1", "Service", "headless", { spec: { clusterIP: "None", selector: { app: "web" }, ports: [port] } }),
  object("v1", "Service", "headless-without-selector", { spec: { clusterIP: "None", ports: [port] } }),
  object("v1", "Service", "external", { spec: { type: "ExternalName", externalName: "example.com" } }),
  object("v1", "Service", "balanced", {
    spec: { type: "LoadBalancer", externalTrafficPolicy: "Local", selector: { app: "web" }, ports: [port] },
  }),
  object("v1", "PersistentVolumeClaim", "bound", {
    spec: { ...claimSpec, storageClassName: "", volumeName: `volume-${id}` },
  }),
  object("v1", "PersistentVolumeClaim", "waiting", { spec: { ...claimSpec, storageClassName: `disk-${id}` } }),
  object("apps/v1", "Deployment", "web", { spec: { replicas: 2, ...labelled("web") } }),
  object("apps/v1", "ReplicaSet", "alone", { spec: { replicas: 1, ...labelled("alone") } }),
  object("apps/v1", "StatefulSet", "data", {
    spec: {
      serviceName: "headless",
      replicas: 1,
      ...labelled("data"),
      volumeClaimTemplates: [{ metadata: { name: "disk" }, spec: { ...claimSpec, storageClassName: `disk-${id}` } }],
    },
  }),
  object("apps/v1", "DaemonSet", "agent", { spec: labelled("agent") }),
  object("batch/v1", "Job", "once", { spec: { template: { spec: finite } } }),
  object("batch/v1", "CronJob", "yearly", {
    spec: { schedule: "0 0 1 1 *", jobTemplate: { spec: { template: { spec: finite } } } },
  }),
  object("v1", "Pod", "bare", { spec: { ...podSpec, serviceAccountName: "web", priorityClassName: `fast-${id}` } }),
  object("v1", "Pod", "system", { spec: { ...podSpec, priorityClassName: "system-node-critical" } }),
  object("autoscaling/v2", "HorizontalPodAutoscaler", "web", {
    spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" }, maxReplicas: 3 },
  }),
]
