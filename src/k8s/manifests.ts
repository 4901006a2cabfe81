/** All manifests of a recorder in a cluster, in an order in which they can be applied. */
import { configMap, deployment, volumeClaim } from "./deployment.ts"
import { type Manifest, manifest } from "./manifest.ts"
import { monitoringManifests } from "./monitoring/monitoring.ts"
import { disruptionBudget, networkPolicy, service } from "./network.ts"
import { exporters, ownEvents, roles, serviceAccount } from "./rights/rbac.ts"
import { labelsOf, type ManifestSettings } from "./settings.ts"

/** Pure. */
export const manifestsFor = (settings: ManifestSettings): ReadonlyArray<Manifest> => [
  namespace(settings),
  serviceAccount(settings),
  ...roles(settings),
  ...ownEvents(settings),
  ...(settings.authentication.tag === "kubernetes" ? [exporters(settings)] : []),
  configMap(settings),
  ...(settings.volume.isClaim ? [volumeClaim(settings)] : []),
  service(settings),
  deployment(settings),
  disruptionBudget(settings),
  networkPolicy(settings),
  ...(settings.monitoring ? monitoringManifests(settings) : []),
]

/** Enforces the restricted pod security standard, so that edits that give the pod more privileges are rejected. */
const namespace = (settings: ManifestSettings): Manifest => {
  const standards = Object.fromEntries(
    ["enforce", "audit", "warn"].map((mode) => [`pod-security.kubernetes.io/${mode}`, "restricted"]),
  )
  return manifest({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: settings.namespace, labels: { ...labelsOf(settings), ...standards } },
  })
}
