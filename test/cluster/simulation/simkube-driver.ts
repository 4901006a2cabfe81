/**
 * SimKube's own driver (KUBEREEL_SK_DRIVER names its binary) on a cluster without the rest of SimKube: with the custom resources and the
 * lease that its controller would have made (docs/facts/simkube.md). Its webhook is not registered: pods live as the nodes say.
 */
import { execFile, spawn } from "node:child_process"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { AlreadyExistsError, type ApiClient, type ApiObject, type Kind, kinds } from "../../../src/kube/index.ts"
import { freePort } from "../../blob/server-process.ts"

const kind = (group: string, name: string, plural: string, namespaced = false): Kind => ({
  gvk: { group, version: "v1", kind: name },
  plural,
  namespaced,
})
const definitions = kind("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions")
const simulations = kind("simkube.io", "Simulation", "simulations")
const leases = kind("coordination.k8s.io", "Lease", "leases", true)

interface DriverRun {
  readonly binary: string
  readonly kubeconfig: string
  readonly client: ApiClient
  /** For its files. */
  readonly directory: string
  /** Name of the simulation, and of a namespace for its lease. */
  readonly name: string
  readonly trace: string
}

/** What the caller removes afterwards, and how the driver ended. */
export interface DriverResult {
  readonly made: ReadonlyArray<readonly [Kind, string]>
  readonly ended: Promise<{ readonly code: number | null; readonly log: string }>
}

export const startDriver = async (run: DriverRun): Promise<DriverResult> => {
  const { client, name, directory, trace, binary, kubeconfig } = run
  const made: Array<readonly [Kind, string]> = []
  const create = async (of: Kind, object: object): Promise<void> => {
    const created = object as ApiObject
    try {
      await client.create(of, created)
      if (!of.namespaced) made.push([of, created.metadata.name])
    } catch (error) {
      if (!(error instanceof AlreadyExistsError)) throw error
    }
  }
  for (const [plural, name] of [
    ["simulations", "Simulation"],
    ["simulationroots", "SimulationRoot"],
  ] as const) {
    const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }
    const version = { name: "v1", served: true, storage: true, schema, subresources: { status: {} } }
    await create(definitions, {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `${plural}.simkube.io` },
      spec: { group: "simkube.io", scope: "Cluster", names: { kind: name, plural }, versions: [version] },
    })
  }
  await create(kinds.namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name } })
  const driver = {
    namespace: name,
    image: "none",
    port: 8888,
    tracePath: `file://${trace}`,
    virtualNsPrefix: "simkube",
  }
  const simulation = { apiVersion: "simkube.io/v1", kind: "Simulation", metadata: { name } }
  // A definition is served shortly after it was created.
  while (
    !(await client.list(simulations).then(
      () => true,
      () => false,
    ))
  )
    await sleep(100)
  await create(simulations, { ...simulation, spec: { driver, lifecycleParams: {} } })
  await create(leases, {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "sk-lease", namespace: name },
    spec: { holderIdentity: name },
  })
  const [certificate, key] = [join(directory, "tls.crt"), join(directory, "tls.key")]
  const words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "1"]
  await promisify(execFile)("openssl", [...words, "-keyout", key, "-out", certificate])
  const options = ["--sim-name", name, "--controller-ns", name, "--trace-path", `file://${trace}`]
  options.push("--cert-path", certificate, "--key-path", key, "--admission-webhook-port", String(await freePort()))
  const child = spawn(binary, options, {
    env: { ...process.env, KUBECONFIG: kubeconfig, DRIVER_NAME: name },
    stdio: ["ignore", "pipe", "pipe"],
  })
  let log = ""
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      log += text
    })
  const ended = new Promise<{ code: number | null; log: string }>((resolve, reject) => {
    child.on("error", reject)
    child.on("close", (code) => resolve({ code, log }))
  })
  return { made, ended }
}
