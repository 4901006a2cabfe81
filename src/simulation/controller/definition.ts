/** The controller of Simulations as a definition for the host: what it watches, what it writes, and what it does. */
import { type DefinedController, defineController } from "../../host/controller/define-controller.ts"
import { derivedNames, simulationLabel } from "../api/derived-names.ts"
import type { Simulation } from "../api/simulation.ts"
import { nameOfKind } from "./actions/kinds.ts"
import { turnLease } from "./actions/turn-lease.ts"
import { managedBy } from "./objects/belonging.ts"
import { driverComponent } from "./objects/driver-job.ts"
import { advance, type ReconcileSurroundings } from "./reconcile.ts"
import { isSettled } from "./state/life.ts"

/** Name of the controller: the manager of the fields that it writes. */
export const controllerName = "kubereel-simulation-controller"

/** SimKube's form of a label that selects what the controller itself has created, not what drivers replay. */
const selector = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(",")

const driverSelector = selector({ ...managedBy, ...driverComponent })

/** `namespace`: that of the Lease that decides whose turn it is. */
export const simulationController = (surroundings: ReconcileSurroundings): DefinedController => {
  const { namespace } = surroundings
  return defineController<Simulation>({
    name: controllerName,
    for: nameOfKind.simulation,
    owns: [
      // Without a label: one of SimKube's controller is taken over.
      { kind: nameOfKind.job, labelSelector: simulationLabel, matchEveryOwner: true },
      { kind: nameOfKind.root, matchEveryOwner: true },
    ],
    watches: [
      {
        kind: nameOfKind.pod,
        labelSelector: driverSelector,
        map: ({ metadata }, reads) =>
          reads
            .cached(nameOfKind.simulation)
            .list()
            .filter(({ metadata: { name } }) => derivedNames(name).driver === metadata.labels?.["job-name"])
            .map(({ metadata: { name } }) => name),
      },
      // Whoever holds the Lease ends or is gone: the next one's turn has come.
      {
        kind: nameOfKind.lease,
        namespace,
        fieldSelector: `metadata.name=${turnLease}`,
        map: (_, reads) => unsettled(reads.cached<Simulation>(nameOfKind.simulation).list()),
      },
      {
        kind: nameOfKind.simulation,
        predicate: ({ previous, current }) =>
          current === undefined ||
          isSettled((previous as Simulation | undefined)?.status) !== isSettled((current as Simulation).status),
        map: (_, reads) => unsettled(reads.cached<Simulation>(nameOfKind.simulation).list()),
      },
    ],
    writes: [
      { kind: nameOfKind.simulation, verbs: ["patch"] },
      { kind: `${nameOfKind.simulation}/status`, verbs: ["patch"] },
      { kind: nameOfKind.root, verbs: ["create", "delete"] },
      { kind: `${nameOfKind.root}/finalizers`, verbs: ["update"] },
      { kind: nameOfKind.job, verbs: ["create", "delete"] },
      { kind: nameOfKind.service, verbs: ["get", "create"] },
      { kind: nameOfKind.secret, verbs: ["create"] },
      { kind: nameOfKind.namespace, verbs: ["get", "create"] },
      { kind: nameOfKind.serviceAccount, verbs: ["create"] },
      { kind: nameOfKind.binding, verbs: ["create"] },
      { kind: nameOfKind.webhooks, verbs: ["get", "create", "patch", "delete"] },
      { kind: nameOfKind.certificate, verbs: ["get", "create"] },
      { kind: nameOfKind.prometheus, verbs: ["get", "create"] },
      { kind: nameOfKind.lease, namespace, verbs: ["create", "update", "patch", "delete"] },
    ],
    finalizer: {
      name: "simkube.io/cleanup",
      cleanUp: (reconciliation) => advance(reconciliation, surroundings),
    },
    reconcile: (reconciliation) => {
      const { object } = reconciliation
      return object === undefined ? undefined : advance({ ...reconciliation, object }, surroundings)
    },
  })
}

const unsettled = (simulations: ReadonlyArray<Simulation>): ReadonlyArray<string> =>
  simulations.filter(({ status }) => !isSettled(status)).map(({ metadata }) => metadata.name)
