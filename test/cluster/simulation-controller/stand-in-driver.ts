/**
 * A driver that replays nothing: it owns a root, serves the webhook with the given certificate, waits until the API server calls it, and ends as its arguments say. What it does
 * are the controller's promises to any driver: a certificate that the API server trusts, a Service that leads to the pod, rights, a Simulation to read.
 *
 *   --until NAME       ends with success once the file of that name exists in STAND_IN_DIRECTORY; without it, never
 *   --failing MESSAGE  ends with code 1 and that termination message instead
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:https"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { ApiClient, type ApiObject, kinds, loadCredentials } from "../../../src/kube/index.ts"
import { type Simulation, simulationKind, simulationRootKind } from "../../../src/simulation/index.ts"

const text = { type: "string" } as const
const { values: given } = parseArgs({
  options: {
    ...{ "cert-path": text, "key-path": text, "trace-path": text, "sim-name": text, "controller-ns": text },
    ...{ "admission-webhook-port": text, verbosity: text, until: text, failing: text },
  },
})
const own = process.env.DRIVER_NAME ?? ""
const hasFinished = (): boolean =>
  given.until !== undefined && existsSync(join(process.env.STAND_IN_DIRECTORY ?? "", given.until))

let calls = 0
const server = createServer(
  { cert: readFileSync(given["cert-path"] ?? ""), key: readFileSync(given["key-path"] ?? "") },
  async (request, response) => {
    const { apiVersion, kind, request: asked } = JSON.parse(Buffer.concat(await request.toArray()).toString())
    calls++
    response.setHeader("Content-Type", "application/json")
    response.end(JSON.stringify({ apiVersion, kind, response: { uid: asked.uid, allowed: true } }))
  },
)
server.listen(Number(given["admission-webhook-port"]), "0.0.0.0")

const credentials = await loadCredentials({ kubeconfig: undefined, context: undefined })
const api = new ApiClient({ server: credentials, userAgent: "stand-in-driver" })
const simulation = await api.get<Simulation>(simulationKind, { name: given["sim-name"] ?? "" })
const prefix = simulation.spec.driver.virtualNsPrefix ?? "virtual"

const owner = ({ apiVersion, kind, metadata: { name, uid = "" } }: ApiObject) => [
  { apiVersion, kind, name, uid, blockOwnerDeletion: true },
]
const root = await api.create<ApiObject>(simulationRootKind, {
  apiVersion: "simkube.io/v1",
  kind: "SimulationRoot",
  metadata: { name: `${own}-root`, ownerReferences: owner(simulation) },
  spec: {},
})

const end = async (code: number, message = ""): Promise<never> => {
  await api.delete(simulationRootKind, root.metadata, { propagationPolicy: "Foreground" })
  const isThere = async (): Promise<boolean> =>
    (await api.list<ApiObject>(simulationRootKind)).items.some(({ metadata: { uid } }) => uid === root.metadata.uid)
  while (await isThere()) await sleep(50)
  if (message !== "") writeFileSync(process.env.KUBEREEL_TERMINATION_LOG ?? "/dev/termination-log", message)
  process.exit(code)
}
process.once("SIGTERM", () => void end(1, "ended by SIGTERM"))

const namespace = `${prefix}-${own}`.slice(0, 63)
await api.create<ApiObject>(kinds.namespaces, {
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name: namespace, ownerReferences: owner(root) },
})
const pod = { metadata: { name: "probe", namespace }, spec: { containers: [{ name: "main", image: "none" }] } }
while (calls === 0) {
  // Refused until the endpoint of the Service is there, and until the namespace has an account.
  await api
    .create<ApiObject>(kinds.pods, { apiVersion: "v1", kind: "Pod", ...pod }, { dryRun: true })
    .catch((error: Error) => console.log(`not yet: ${error.message}`))
  if (calls === 0) await sleep(100)
}
console.log(`webhook called; repetition ${Number(process.env.JOB_COMPLETION_INDEX) + 1}`)
while (!hasFinished()) await sleep(25)
await (given.failing === undefined ? end(0) : end(1, given.failing))
