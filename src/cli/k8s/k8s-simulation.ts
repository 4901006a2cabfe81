/** `reel k8s --simulation`: arguments and printing. The manifests themselves are made in src/k8s/simulation. */

import { systemClock } from "../../clock.ts"
import { rulesOf, type ScopedRules } from "../../host/index.ts"
import { discoverBuiltIn, renderManifests, simulationManifestsFor } from "../../k8s/index.ts"
import type { Kind } from "../../kube/index.ts"
import { parseGvk } from "../../kube/offline.ts"
import {
  driverRole,
  HookRuns,
  nameOfKind,
  simulationController,
  simulationDefinitions,
  simulationKind,
  simulationRootKind,
} from "../../simulation/index.ts"
import { type CommandSyntax, flag, integerBetween, list, optional, withDefault } from "../command-line/arguments.ts"
import { type Command, command } from "../command-line/command.ts"
import { exitCodes } from "../command-line/exit-codes.ts"
import { readVersion } from "../command-line/version.ts"
import { k8sOptions, parseName, parsePort } from "./k8s-options.ts"
import { defaultImage, prerequisites } from "./prerequisites.ts"

// What the controller of Simulations needs, from its own definition: no cluster is asked.

const custom = (name: string, plural: string): Kind => {
  const gvk = parseGvk(name)
  if (gvk === undefined) throw new Error(`${name} is not the name of a kind`)
  return { gvk, plural, namespaced: true }
}

/** Kinds that are not built into Kubernetes. Some clusters lack the last; permissions for it do no harm there. */
const defined: Readonly<Record<string, Kind>> = {
  [nameOfKind.simulation]: simulationKind,
  [nameOfKind.root]: simulationRootKind,
  [nameOfKind.prometheus]: custom(nameOfKind.prometheus, "prometheuses"),
}

/** Rights of a controller in that namespace. */
const controllerNeeds = (namespace: string): Promise<ReadonlyArray<ScopedRules>> => {
  const hooks = new HookRuns({
    environment: {},
    clock: systemClock,
    onOutput: () => undefined,
    onEnd: () => undefined,
    onTrouble: () => undefined,
  })
  return rulesOf([simulationController({ namespace, hooks })], kindOf, { leaseNamespace: namespace })
}

const kindOf = async (name: string): Promise<Kind> => {
  const known = defined[name]
  if (known !== undefined) return known
  const gvk = parseGvk(name)
  const answer = gvk && discoverBuiltIn(gvk)
  if (answer?.tag !== "found")
    throw new Error(`the controller of Simulations uses ${name}, whose resource is not known`)
  return answer.resource
}

// The options of `reel k8s --simulation`.

const { bind, apiServerPort, monitoringNamespace } = k8sOptions

const simulationOptions = {
  simulation: flag({ help: "print manifests of the controller of Simulations" }),
  namespace: withDefault(
    "kubereel-simulation",
    "-n NAME",
    "namespace to run the controller in; drivers run where their Simulations say",
    parseName,
  ),
  image: optional(
    "-i IMAGE",
    "image of the controller; default: kubereel:VERSION. That of drivers is in their Simulations",
  ),
  replicas: withDefault(
    "1",
    "NUMBER",
    "pods of the controller: one of them works, the others stand by",
    integerBetween(1, 10),
  ),
  bind,
  apiServerPort,
  egressPort: list(
    "PORT",
    "further port that hooks may reach, for the network policy, which then allows DNS too; default: none",
    parsePort,
  ),
  monitoring: flag({ help: "add a PodMonitor" }),
  monitoringNamespace,
}

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
  command(syntax, async (given, { standardOutput, say }) => {
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
    for (const sentence of prerequisites({ image: given.image, version, monitoringKinds })) say(sentence)
    return exitCodes.ok
  })
