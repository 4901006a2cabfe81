/** A cluster with the kinds of simulations and a controller of Jobs, in which the test plays the drivers: it says what becomes of their pods. */
import { setTimeout } from "node:timers/promises"
import { onTestFinished } from "vitest"
import type { RunningControllers } from "../../../src/host/index.ts"
import { type ApiObject, type Kind, kinds, type Pod } from "../../../src/kube/index.ts"
import { type Definition, simulationDefinitions } from "../../../src/simulation/api/definitions.ts"
import { simulationKind, simulationRootKind } from "../../../src/simulation/api/derived-names.ts"
import type { Simulation, SimulationSpec } from "../../../src/simulation/api/simulation.ts"
import type { SimulationStatus } from "../../../src/simulation/api/status.ts"
import {
  type SimulationControllerOptions,
  startSimulationController,
} from "../../../src/simulation/controller/start-controller.ts"
import { webhookConfigurations } from "../../../src/simulation/webhook/pod-webhook.ts"
import { turn } from "../../runtime/until.ts"
import { LivingCluster } from "../../sandbox/workload/living-cluster.ts"

export const definitions: Kind = {
  gvk: { group: "apiextensions.k8s.io", version: "v1", kind: "CustomResourceDefinition" },
  plural: "customresourcedefinitions",
  namespaced: false,
}

const core = (kind: string, plural: string): Kind => ({
  gvk: { group: "", version: "v1", kind },
  plural,
  namespaced: true,
})

/** Whose objects a simulation may leave behind. */
export const kindsLeft: ReadonlyArray<Kind> = [
  simulationKind,
  simulationRootKind,
  webhookConfigurations,
  kinds.jobs,
  kinds.pods,
  kinds.leases,
  core("Service", "services"),
  core("Secret", "secrets"),
]

export const driverNamespace = "drivers"
const controllerNamespace = "kubereel"

/** A manifest of SimKube's, without anything that SimKube does not know. */
export const manifest = (name: string, spec: Partial<SimulationSpec> = {}): ApiObject => ({
  apiVersion: "simkube.io/v1",
  kind: "Simulation",
  metadata: { name },
  spec: {
    driver: {
      namespace: driverNamespace,
      image: "quay.io/appliedcomputing/sk-driver:v2.7.0",
      port: 8888,
      tracePath: "s3://traces/demo.sktrace",
    },
    ...spec,
  },
})

/** The definition without a schema: as if objects had been stored by another one. */
export const openDefinition = (definition: Definition): ApiObject => {
  const { spec, ...rest } = structuredClone(definition) as unknown as ApiObject & {
    readonly spec: { readonly versions: ReadonlyArray<object> }
  }
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }
  return { ...rest, spec: { ...spec, versions: spec.versions.map((version) => ({ ...version, schema })) } } as ApiObject
}

export class SimulatedCluster {
  readonly living: LivingCluster
  readonly troubles: string[] = []
  readonly #controllers: RunningControllers[] = []

  private constructor(living: LivingCluster) {
    this.living = living
  }

  static async start({ withDefinitions = true } = {}): Promise<SimulatedCluster> {
    const living = await LivingCluster.start({ lifecycle: true, controllers: ["job"], nodes: 0, overHttp: true })
    const cluster = new SimulatedCluster(living)
    onTestFinished(() => cluster.close())
    if (withDefinitions) await cluster.install()
    await cluster.createNamespace(controllerNamespace)
    return cluster
  }

  /** With a controller. */
  static async controlled(): Promise<SimulatedCluster> {
    const cluster = await SimulatedCluster.start()
    await cluster.control()
    return cluster
  }

  /** With a controller and a Simulation. */
  static async simulating(name: string, spec: Partial<SimulationSpec> = {}): Promise<SimulatedCluster> {
    const cluster = await SimulatedCluster.controlled()
    await cluster.create(name, spec)
    return cluster
  }

  /** `simulations`: instead of the definition of Simulations. */
  async install(simulations?: (definition: Definition) => ApiObject): Promise<void> {
    const [simulation, root] = simulationDefinitions()
    const first = simulations === undefined ? (simulation as ApiObject) : simulations(simulation)
    await this.living.api.create(definitions, first)
    await this.living.api.create(definitions, root as ApiObject)
  }

  async createNamespace(name: string): Promise<void> {
    await this.living.api.create(kinds.namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name } })
  }

  /** Closed with the test, unless the test closes it. */
  async control(options: Partial<SimulationControllerOptions> = {}): Promise<RunningControllers> {
    const { clock, sandbox } = this.living
    const controller = await startSimulationController({
      server: sandbox.endpoint,
      namespace: controllerNamespace,
      clock,
      random: () => 0,
      hookEnvironment: { PATH: process.env.PATH },
      onTrouble: (detail) => void this.troubles.push(detail),
      ...options,
    })
    this.#controllers.push(controller)
    return controller
  }

  create(name: string, spec: Partial<SimulationSpec> = {}): Promise<ApiObject> {
    return this.living.api.create(simulationKind, manifest(name, spec))
  }

  simulation(name: string): Simulation | undefined {
    return this.living.sandbox.get("simkube.io/v1.Simulation", "", name) as Simulation | undefined
  }

  status(name: string): SimulationStatus {
    return this.simulation(name)?.status ?? { observedGeneration: -1 }
  }

  /** `Ready: Finished` and so on. */
  condition(name: string, type: string): string {
    const { status, reason } = this.status(name).conditions?.find((condition) => condition.type === type) ?? {}
    return `${status} ${reason}`
  }

  message(name: string, type: string): string {
    return this.status(name).conditions?.find((condition) => condition.type === type)?.message ?? ""
  }

  edit(name: string, spec: Readonly<Record<string, unknown>>): Promise<ApiObject> {
    return this.living.api.patch(simulationKind, { name }, "merge", { spec })
  }

  async delete(name: string): Promise<void> {
    await this.living.api.delete(simulationKind, { name })
  }

  job(name: string): ApiObject | undefined {
    return this.living.sandbox.get("batch/v1.Job", driverNamespace, `sk-${name}-driver`) as ApiObject | undefined
  }

  lease(): ApiObject | undefined {
    return this.living.sandbox.get("coordination.k8s.io/v1.Lease", controllerNamespace, "sk-lease") as
      | ApiObject
      | undefined
  }

  /** How many objects of that name there have been. */
  created(gvk: string, name: string): number {
    const uids = this.living.history<ApiObject>(gvk, name).map(({ metadata }) => metadata.uid)
    return new Set(uids).size
  }

  /** As the driver does: owned by the Simulation. */
  async createDriverRoot(simulation: string, name: string): Promise<ApiObject> {
    const uid = this.simulation(simulation)?.metadata.uid ?? ""
    const owner = { apiVersion: "simkube.io/v1", kind: "Simulation", name: simulation, uid, blockOwnerDeletion: true }
    return this.living.api.create<ApiObject>(simulationRootKind, {
      apiVersion: "simkube.io/v1",
      kind: "SimulationRoot",
      metadata: { name, labels: { "simkube.io/simulation": simulation }, ownerReferences: [owner] },
      spec: {},
    })
  }

  async awaitPod(name: string): Promise<Pod> {
    let found: Pod | undefined
    await this.until(async () => {
      found = await this.pod(name)
      return found !== undefined
    })
    return found as unknown as Pod
  }

  /** The pod of the present repetition. */
  async pod(name: string): Promise<Pod | undefined> {
    const labelSelector = `job-name=sk-${name}-driver`
    const { items } = await this.living.api.list<Pod>(kinds.pods, { namespace: driverNamespace, labelSelector })
    return items.find(({ status, metadata }) => {
      const isOver = status?.phase === "Succeeded" || status?.phase === "Failed"
      return !isOver && metadata.deletionTimestamp === undefined
    })
  }

  async becomes(pod: Pod, status: Pod["status"]): Promise<void> {
    await this.living.api.patch(kinds.pods, pod.metadata, "merge", { status }, { subresource: "status" })
  }

  /** The driver of one repetition, from its pod to the end of it. */
  async play(name: string, end: "Succeeded" | "Failed" = "Succeeded", words?: string): Promise<void> {
    const pod = await this.awaitPod(name)
    const terminated = { exitCode: end === "Failed" ? 1 : 0, reason: "Error", message: words }
    const state = { terminated } as never
    const container = { name: "driver", state, lastState: {}, ready: false, restartCount: 0, image: "", imageID: "" }
    await this.becomes(pod, { phase: "Running" })
    await this.becomes(pod, { phase: end, containerStatuses: [container] })
  }

  /** Lets time pass until the condition holds: some ms a turn, and no faster than processes need. */
  async until(condition: () => boolean | Promise<boolean>): Promise<void> {
    for (let turns = 0; !(await condition()); turns++) {
      this.living.clock.advance(20)
      await (turns < 200 ? turn() : setTimeout(1))
    }
  }

  /** Nothing is left to do for it. */
  async settles(name: string, state: "Finished" | "Failed" = "Finished"): Promise<void> {
    await this.until(() => this.status(name).state === state && this.condition(name, "Progressing").startsWith("False"))
  }

  /** Everything that belongs to simulations, as `Kind name`; pods without their random names. */
  async left(): Promise<ReadonlyArray<string>> {
    const lists = await Promise.all(
      kindsLeft.map(async (kind) => {
        const { items } = await this.living.api.list<ApiObject>(kind)
        return items
          .filter(
            ({ metadata }) =>
              kind === simulationKind ||
              metadata.labels?.["app.kubernetes.io/managed-by"] === "kubereel" ||
              metadata.labels?.["simkube.io/simulation"] !== undefined,
          )
          .map(({ metadata }) => (kind === kinds.pods ? "Pod" : `${kind.gvk.kind} ${metadata.name}`))
      }),
    )
    return lists.flat().sort()
  }

  async events(name: string): Promise<ReadonlyArray<string>> {
    const { items } = await this.living.api.list<ApiObject>(kinds.events, { namespace: "default" })
    return items
      .filter((event) => (event.involvedObject as { readonly name?: string }).name === name)
      .map(({ reason, action, reportingComponent }) => `${reportingComponent} ${reason} ${action}`)
  }

  async closes(...controllers: ReadonlyArray<RunningControllers>): Promise<void> {
    let isClosed = false
    const closed = Promise.all(controllers.map((controller) => controller.close())).finally(() => {
      isClosed = true
    })
    await this.until(() => isClosed)
    await closed
  }

  async close(): Promise<void> {
    await this.closes(...this.#controllers)
    await this.living.close()
  }
}
