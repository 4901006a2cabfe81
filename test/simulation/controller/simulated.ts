/** A cluster with the kinds of simulations and a controller of Jobs, in which the test plays the drivers: it says what becomes of their pods. */
import { onTestFinished } from "vitest"
import type { RunningControllers } from "../../../src/host/controller/running-controllers.ts"
import { kinds } from "../../../src/kube/client/kinds.ts"
import type { ApiObject, Pod } from "../../../src/kube/client/objects.ts"
import type { Kind } from "../../../src/kube/kind.ts"
import { simulationDefinitions } from "../../../src/simulation/api/definitions.ts"
import { simulationKind, simulationRootKind } from "../../../src/simulation/api/derived-names.ts"
import type { Simulation, SimulationSpec } from "../../../src/simulation/api/simulation.ts"
import type { SimulationStatus } from "../../../src/simulation/api/status.ts"
import type { SimulationControllerOptions } from "../../../src/simulation/controller/controller-options.ts"
import { startSimulationController } from "../../../src/simulation/controller/start-controller.ts"
import { webhookConfigurations } from "../../../src/simulation/webhook/webhook-registration.ts"
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

export class SimulatedCluster {
  readonly living: LivingCluster
  readonly troubles: string[] = []
  readonly #controllers: RunningControllers[] = []

  private constructor(living: LivingCluster) {
    this.living = living
  }

  static async start(): Promise<SimulatedCluster> {
    const living = await LivingCluster.start({ lifecycle: true, controllers: ["job"], nodes: 0 })
    const cluster = new SimulatedCluster(living)
    onTestFinished(() => cluster.close())
    for (const definition of simulationDefinitions()) await living.api.create(definitions, definition as ApiObject)
    await cluster.createNamespace(controllerNamespace)
    return cluster
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
    let pod: Pod | undefined
    await this.until(async () => {
      pod = await this.pod(name)
      return pod !== undefined
    })
    if (pod === undefined) return
    const terminated = { exitCode: end === "Failed" ? 1 : 0, reason: "Error", message: words }
    const state = { terminated } as never
    const container = { name: "driver", state, lastState: {}, ready: false, restartCount: 0, image: "", imageID: "" }
    await this.becomes(pod, { phase: "Running" })
    await this.becomes(pod, { phase: end, containerStatuses: [container] })
  }

  until(condition: () => boolean | Promise<boolean>): Promise<void> {
    return this.living.sees(condition)
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

  async close(): Promise<void> {
    let isClosed = false
    const closed = Promise.all(this.#controllers.map((controller) => controller.close())).finally(() => {
      isClosed = true
    })
    await this.living.sees(() => isClosed)
    await closed
    await this.living.close()
  }
}
