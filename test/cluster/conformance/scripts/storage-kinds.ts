/** Storage, volumes, claims, nodes. What controllers write to them is left out. */

import { get, inCluster, inNamespace, mergePatch, post, remove, type Script } from "../script.ts"
import { named, once } from "./cluster-kinds.ts"

const table = { headers: { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" } }
const group = "storage.k8s.io/v1"
const claims = inNamespace("v1", "persistentvolumeclaims")
const volumes = inCluster("v1", "persistentvolumes")
const nodes = inCluster("v1", "nodes")

const storage: Script = {
  name: "storage",
  area: "rules",
  controlled: true,
  leftovers: [`${volumes}/<ns>-v`],
  steps: [
    ...once(group, "storageclasses", "StorageClass", { provisioner: "example.com/p" }, { allowVolumeExpansion: true }),
    post(
      "a class without a provisioner",
      inCluster(group, "storageclasses"),
      named(group, "StorageClass", "<ns>-y", {}),
    ),
    ...once(group, "csidrivers", "CSIDriver", { spec: {} }, { spec: { requiresRepublish: true } }),
    ...once(group, "csinodes", "CSINode", { spec: { drivers: [] } }, { metadata: { labels: { a: "b" } } }),
    post(
      "a claim",
      claims,
      named("v1", "PersistentVolumeClaim", "c", {
        spec: {
          storageClassName: "",
          volumeName: "nobody-has-this",
          accessModes: ["ReadWriteOnce"],
          resources: { requests: { storage: "1Gi" } },
        },
      }),
    ),
    mergePatch("a larger claim", `${claims}/c`, { spec: { resources: { requests: { storage: "2Gi" } } } }),
    mergePatch("another mode", `${claims}/c`, { spec: { accessModes: ["ReadOnlyMany"] } }),
    post("a claim of nothing", claims, named("v1", "PersistentVolumeClaim", "d", { spec: {} })),
    get("table of claims", claims, { ...table, query: { fieldSelector: "metadata.name=nobody" } }),
    post(
      "a volume",
      volumes,
      named("v1", "PersistentVolume", "<ns>-v", {
        spec: {
          capacity: { storage: "1Gi" },
          accessModes: ["ReadWriteOnce"],
          hostPath: { path: "/x" },
          storageClassName: "<ns>",
        },
      }),
    ),
    post("a volume of nothing", volumes, named("v1", "PersistentVolume", "<ns>-w", { spec: {} })),
    remove("delete the volume", `${volumes}/<ns>-v`, { query: { dryRun: "All" } }),
    remove("delete it in earnest", `${volumes}/<ns>-v`, { query: { gracePeriodSeconds: "0" } }),
    post("a node", nodes, named("v1", "Node", "<ns>-n", { spec: { unschedulable: true } }), {
      query: { dryRun: "All" },
    }),
  ],
}

export const storageKinds: readonly Script[] = [storage]
