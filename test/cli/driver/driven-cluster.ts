/** A sandbox with the definitions of Simulations, and drivers in this process that it calls over HTTPS, as a controller would have set them up. */

import { writeFileSync } from "node:fs"
import { type AddressInfo, createServer } from "node:net"
import { join } from "node:path"
import * as Result from "effect/Result"
import { parseDriver } from "../../../src/cli/driver/driver-arguments.ts"
import { type DriverOutcome, runDriver } from "../../../src/cli/driver/run-driver.ts"
import { type Clock, systemClock } from "../../../src/clock.ts"
import { makeServerCertificate } from "../../../src/host/index.ts"
import { type ApiClient, type ApiObject, type EndpointSource, type Kind, kinds } from "../../../src/kube/index.ts"
import { LocalCluster } from "../../../src/sandbox/index.ts"
import type { Simulation, SimulationSpec } from "../../../src/simulation/api/simulation.ts"
import { simulationDefinitions, simulationKind, simulationRootKind } from "../../../src/simulation/index.ts"
import { webhookConfigurations } from "../../../src/simulation/webhook/pod-webhook.ts"
import { eventually } from "../../harness/eventually.ts"
import { configMap, event, header, ndjsonOf } from "../../simulation/trace-items.ts"

const definitions: Kind = {
  gvk: { group: "apiextensions.k8s.io", version: "v1", kind: "CustomResourceDefinition" },
  plural: "customresourcedefinitions",
  namespaced: false,
}

/** A cluster that drivers work in: with the definitions of Simulations, and a namespace `simkube`. */
export interface DrivenCluster {
  /** For tests. */
  readonly client: ApiClient
  /** For drivers. */
  readonly endpoints: EndpointSource
}

/** A sandbox. `definition`: that of Simulations. */
export const startCluster = async (
  definition: object = simulationDefinitions()[0],
): Promise<DrivenCluster & Pick<LocalCluster, "close">> => {
  const cluster = await LocalCluster.start({ nodes: 2 })
  const { client } = cluster
  for (const each of [definition, simulationDefinitions()[1]]) await client.create(definitions, each as ApiObject)
  await eventually(() => client.list(simulationKind))
  await eventually(() => client.list(simulationRootKind))
  await client.create(kinds.namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "simkube" } })
  return {
    client,
    endpoints: { endpoint: async () => cluster.sandbox.endpoint, onUnauthorized: async () => undefined },
    close: () => cluster.close(),
  }
}

/** A pod and a ConfigMap at the start, and a change of the latter every `stepMs`. */
export const traceText = ({ changes = 3, stepMs = 50 } = {}): string =>
  ndjsonOf([
    header((changes + 1) * stepMs, { kinds: ["v1.ConfigMap", "v1.Pod"] }),
    configMap(-10, "a", "0"),
    event(-10, "v1.Pod", "p", { spec: { containers: [{ name: "main", image: "main:1" }] } }),
    ...Array.from({ length: changes }, (_, index) => configMap((index + 1) * stepMs, "a", String(index + 1))),
  ])

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

interface Setting {
  readonly spec?: Partial<SimulationSpec>
  readonly driver?: Partial<SimulationSpec["driver"]>
  readonly trace?: string
  /** Whether the controller has registered the webhook. */
  readonly isRegistered?: boolean
}

/** A Simulation with what its controller would have made. */
export interface Stage extends AsyncDisposable {
  readonly simulation: Simulation
  readonly prefix: string
  readonly present: () => Promise<Simulation>
  readonly patch: (spec: object) => Promise<unknown>
  /** Arguments of SimKube's controller, then these. */
  readonly drive: (how?: Drive) => Driving
  /** What is left of replays. */
  readonly remains: () => Promise<ReadonlyArray<string>>
}

interface Drive {
  readonly index?: number
  readonly args?: ReadonlyArray<string>
  readonly clock?: Clock
}

/** A driver that runs. */
export interface Driving {
  readonly ended: Promise<DriverOutcome>
  readonly log: ReadonlyArray<string>
  readonly end: () => void
}

/** `directory` gets the trace and the certificate. */
export const stageOf = async (
  { client, endpoints }: DrivenCluster,
  name: string,
  directory: string,
  { spec, driver, trace = traceText(), isRegistered = true }: Setting = {},
): Promise<Stage> => {
  const path = (file: string): string => join(directory, file)
  const nowMs = Date.now()
  const validity = { notBeforeMs: nowMs - 60_000, notAfterMs: nowMs + 3_600_000 }
  const { authority, certificate, key } = makeServerCertificate({ host: "127.0.0.1", ...validity })
  writeFileSync(path("tls.crt"), certificate)
  writeFileSync(path("tls.key"), key)
  writeFileSync(path("trace.ndjson"), trace)
  const port = await freePort()
  const prefix = `p-${name}`
  const simulation = await client.create<Simulation>(simulationKind, {
    apiVersion: "simkube.io/v1",
    kind: "Simulation",
    metadata: { name },
    spec: {
      driver: {
        image: "driver:1",
        namespace: "simkube",
        port,
        tracePath: `file://${path("trace.ndjson")}`,
        virtualNsPrefix: prefix,
        ...driver,
      },
      ...spec,
    },
  })
  await client.patch(
    simulationKind,
    { name },
    "merge",
    { status: { observedGeneration: 1 } },
    { subresource: "status" },
  )
  const webhook = { name: `sk-${name}-mutatepods` }
  const caBundle = Buffer.from(authority).toString("base64")
  if (isRegistered)
    await client.create(webhookConfigurations, {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: webhookConfigurations.gvk.kind,
      metadata: webhook,
      webhooks: [
        {
          name: "create-update.mutatepods.simkube.io",
          clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle },
          rules: [
            {
              apiGroups: [""],
              apiVersions: ["v1"],
              operations: ["CREATE", "UPDATE"],
              resources: ["pods", "pods/status"],
            },
          ],
          admissionReviewVersions: ["v1"],
          sideEffects: "None",
          failurePolicy: "Ignore",
        },
      ],
    })
  const drive = ({ index, args = [], clock = systemClock }: Drive = {}): Driving => {
    const environment = {
      PATH: process.env.PATH,
      DRIVER_NAME: `sk-${name}-driver-${index ?? 0}-abcde`,
      ...(index !== undefined && { JOB_COMPLETION_INDEX: String(index) }),
    }
    const files = [
      "--cert-path",
      path("tls.crt"),
      "--key-path",
      path("tls.key"),
      "--trace-path",
      simulation.spec.driver.tracePath,
    ]
    const given = [
      ...files,
      "--sim-name",
      name,
      "--controller-ns",
      "simkube",
      "--admission-webhook-port",
      String(port),
      ...args,
    ]
    const request = Result.getOrThrow(parseDriver(given, environment))
    const ending = new AbortController()
    const log: string[] = []
    const ended = runDriver({
      request,
      endpoints,
      environment,
      clock,
      random: Math.random,
      signal: ending.signal,
      log: (line) => log.push(line),
      listenAddress: "127.0.0.1",
    })
    return { ended, log, end: () => ending.abort() }
  }
  return {
    simulation,
    prefix,
    present: () => client.get<Simulation>(simulationKind, { name }),
    patch: (changed) => client.patch(simulationKind, { name }, "merge", { spec: changed }),
    drive,
    remains: () => remainsIn(client, prefix, name),
    [Symbol.asyncDispose]: async () => {
      if (isRegistered) await client.delete(webhookConfigurations, webhook)
    },
  }
}

const remainsIn = async (client: ApiClient, prefix: string, name: string): Promise<ReadonlyArray<string>> => {
  const { items: namespaces } = await client.list<ApiObject>(kinds.namespaces)
  const { items: roots } = await client.list<ApiObject>(simulationRootKind)
  const names = (all: ReadonlyArray<ApiObject>): ReadonlyArray<string> => all.map(({ metadata }) => metadata.name)
  return [
    ...names(namespaces).filter((each) => each.startsWith(`${prefix}-`)),
    ...names(roots).filter((each) => each.startsWith(`sk-${name}-`)),
  ]
}
