/** `reel k8s --simulation`: arguments and printing. The manifests themselves are made in src/k8s/simulation. */
import { renderManifests, simulationManifestsFor } from "../../../k8s/index.ts"
import { simulationDefinitions } from "../../../simulation/api/definitions.ts"
import { driverRole } from "../../../simulation/controller/objects/driver-account.ts"
import type { CommandSyntax } from "../../command-line/arguments.ts"
import { type Command, command } from "../../command-line/command.ts"
import { exitCodes } from "../../command-line/exit-codes.ts"
import { readVersion } from "../../version.ts"
import { defaultImage, prerequisites } from "../prerequisites.ts"
import { controllerNeeds } from "./controller-needs.ts"
import { simulationOptions } from "./simulation-options.ts"

const syntax: CommandSyntax<typeof simulationOptions> = {
  name: "reel k8s --simulation",
  summary:
    "Prints manifests that run the controller of Simulations in a cluster with the minimum permissions it needs.",
  description: [
    "The definitions of Simulation and SimulationRoot come first. Drivers get the rights of ClusterRoles with the label " +
      'kubereel.dev/aggregate-to-simulation-driver: "true", of which one, for common workloads, is printed. It contacts no cluster.',
  ],
  options: simulationOptions,
  examples: [
    "reel k8s --simulation --image registry.example.com/kubereel:0.1.0 | kubectl apply --server-side -f -",
    "reel k8s --simulation --namespace simulations --replicas 2",
  ],
  seeAlso: ["reel controller", "reel crd", "docs/guides/simulations.md"],
}

const defaultApiServerPorts: ReadonlyArray<number> = [443, 6443]

/** Runs in the place of `reel k8s` when `--simulation` is given. */
export const k8sSimulationCommand = (): Command =>
  command(syntax, async (given, { standardOutput, standardError }) => {
    const version = readVersion()
    const manifests = simulationManifestsFor({
      namespace: given.namespace,
      image: given.image ?? defaultImage(version),
      version,
      definitions: simulationDefinitions(),
      rights: await controllerNeeds(given.namespace),
      driverRole,
      replicas: given.replicas,
      bind: given.bind,
      apiServerPorts: given.apiServerPort.length === 0 ? defaultApiServerPorts : given.apiServerPort,
      egressPorts: given.egressPort,
      monitoring: given.monitoring,
      monitoringNamespace: given.monitoringNamespace,
    })
    standardOutput.write(
      renderManifests(manifests, `kubereel ${version}, Simulations in a cluster: docs/guides/simulations.md`),
    )
    const monitoringKinds = given.monitoring ? ["PodMonitor"] : []
    for (const sentence of prerequisites({ image: given.image, version, monitoringKinds }))
      standardError.write(`${syntax.name}: ${sentence}\n`)
    return exitCodes.ok
  })
