/** All manifests of a controller host, in an order in which they can be applied. */
import { controllersNetworkPolicy } from "../manifest/controllers-network.ts"
import type { Manifest } from "../manifest/manifest.ts"
import { namespaceManifest } from "../manifest/namespace.ts"
import { hostDeployment, moduleConfigMaps } from "./host-deployment.ts"
import { hostMonitoring } from "./host-monitoring.ts"
import { rightsManifests } from "./host-rights.ts"
import { type HostSettings, hostLabels, hostPort } from "./host-settings.ts"
import { stateClaim } from "./host-state.ts"

/** Pure. Namespaces of modules' ServiceAccounts are not among them: they are there for other reasons. */
export const hostManifestsFor = (settings: HostSettings): ReadonlyArray<Manifest> => [
  namespaceManifest(settings.namespace, hostLabels(settings)),
  ...rightsManifests(settings),
  ...moduleConfigMaps(settings),
  ...stateClaim(settings),
  hostDeployment(settings),
  controllersNetworkPolicy({ ...settings, labels: hostLabels(settings), port: hostPort, programs: "scripts" }),
  ...(settings.monitoring ? hostMonitoring(settings) : []),
]
