/** All manifests of a recorder in a cluster, in an order in which they can be applied. */
import { configMap, deployment, volumeClaim } from "./deployment.ts"
import type { Manifest } from "./manifest.ts"
import { monitoringManifests } from "./monitoring/monitoring.ts"
import { namespaceManifest } from "./namespace.ts"
import { disruptionBudget, leaseService, networkPolicy, service } from "./network.ts"
import { exporters, leaseHolding, ownEvents, roles, serviceAccount } from "./rights/rbac.ts"
import { labelsOf, type ManifestSettings } from "./settings.ts"

/** Pure. */
export const manifestsFor = (settings: ManifestSettings): ReadonlyArray<Manifest> => [
  namespaceManifest(settings.namespace, labelsOf(settings)),
  serviceAccount(settings),
  ...roles(settings),
  ...ownEvents(settings),
  ...(settings.lease === undefined ? [] : leaseHolding(settings, settings.lease)),
  ...(settings.authentication.tag === "kubernetes" ? [exporters(settings)] : []),
  configMap(settings),
  ...(settings.volume.isClaim ? [volumeClaim(settings)] : []),
  service(settings),
  ...(settings.lease === undefined ? [] : [leaseService(settings, settings.lease)]),
  deployment(settings),
  disruptionBudget(settings),
  networkPolicy(settings),
  ...(settings.monitoring ? monitoringManifests(settings) : []),
]
