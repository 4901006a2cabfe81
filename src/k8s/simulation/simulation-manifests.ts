/** All manifests of the controller of Simulations, in an order in which they can be applied. */
import { controllersNetworkPolicy } from "../controllers-network.ts"
import { type Manifest, manifest } from "../manifest.ts"
import { namespaceManifest } from "../namespace.ts"
import { selectorOf } from "../settings.ts"
import { controllerDeployment } from "./controller-deployment.ts"
import { controllerRights } from "./controller-rights.ts"
import { driverRoles } from "./driver-role.ts"
import { controllerName, controllerPort, type SimulationSettings, simulationLabels } from "./simulation-settings.ts"

/** Pure. Namespaces of drivers are not among them: the controller creates those that are missing. */
export const simulationManifestsFor = (settings: SimulationSettings): ReadonlyArray<Manifest> => [
  ...settings.definitions.map((object) => manifest(object)),
  namespaceManifest(settings.namespace, simulationLabels(settings)),
  ...driverRoles(settings),
  ...controllerRights(settings),
  controllerDeployment(settings),
  controllersNetworkPolicy({
    ...settings,
    name: controllerName,
    labels: simulationLabels(settings),
    port: controllerPort,
    programs: "hooks",
  }),
  ...(settings.monitoring ? [podMonitor(settings)] : []),
]

/** Nothing but Prometheus calls the controller, so there is no Service. */
const podMonitor = (settings: SimulationSettings): Manifest =>
  manifest({
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PodMonitor",
    metadata: { name: controllerName, namespace: settings.namespace, labels: simulationLabels(settings) },
    spec: {
      selector: { matchLabels: selectorOf({ name: controllerName }) },
      podMetricsEndpoints: [{ port: "http", path: "/metrics", interval: "15s" }],
    },
  })
