/**
 * The controller of Simulations as `reel k8s --simulation` installs it on a real control plane: the manifests, `reel controller` with the token of its ServiceAccount and nothing else, and
 * a node whose pods are processes of this machine, so that the pods of drivers run with their Job's command and arguments and their own token.
 */
import { execFile } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { ApiClient, type ApiObject, type Kind, kinds, loadCredentials, NotFoundError } from "../../../src/kube/index.ts"
import { kubeconfigOf, localProcess, PodProcesses, processNode } from "../../../src/sandbox/index.ts"
import { simulationKind, simulationLabel, simulationRootKind } from "../../../src/simulation/api/derived-names.ts"
import type { Simulation } from "../../../src/simulation/index.ts"
import { ReelProcess, reel, until } from "../../recorder/recorder/recorder-command.ts"
import { kubectl } from "../command.ts"
import { worker } from "../free-ports.ts"
import { type AuditedCluster, openAuditedCluster } from "../k8s/audited-cluster.ts"
import { apply, type KubernetesObject, parseObjects } from "../k8s/installation.ts"
import { machineAddress } from "../k8s/stand-in-pod.ts"

/** Name of the controller's account, and of its roles. */
export const controllerName = "kubereel-simulation-controller"

const standIn = fileURLToPath(new URL("stand-in-driver.ts", import.meta.url))

const kind = (group: string, name: string, plural: string, namespaced: boolean): Kind => ({
  gvk: { group, version: "v1", kind: name },
  plural,
  namespaced,
})
/** Everything that a Simulation may leave behind. */
const left: ReadonlyArray<Kind> = [
  simulationKind,
  simulationRootKind,
  kinds.jobs,
  kinds.pods,
  kinds.leases,
  kind("", "Service", "services", true),
  kind("", "Secret", "secrets", true),
  kind("admissionregistration.k8s.io", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", false),
]

/** A bare name: the pod's mount of /tmp would make another file out of a path below it. */
const endOf = (name: string): string => `${name}.end`

export interface SimulationOptions {
  readonly spec?: Readonly<Record<string, unknown>>
  readonly driver?: Readonly<Record<string, unknown>>
  /** Arguments of the stand-in driver besides `--until`. */
  readonly args?: ReadonlyArray<string>
}

export class SimulatedCluster implements AsyncDisposable {
  readonly audited: AuditedCluster
  readonly api: ApiClient
  /** Namespace of the controller. */
  readonly namespace: string
  /** Namespace of the drivers, which the controller creates. */
  readonly drivers: string
  readonly manifests: ReadonlyArray<KubernetesObject>
  /** Names of the pods whose processes were started, in order. */
  readonly started: string[] = []
  /** What the processes wrote. */
  output = ""
  readonly #directory: string
  readonly #processes: PodProcesses
  readonly #controllers: ReelProcess[] = []
  #made = 0
  #ports = 0

  private constructor(
    made: Pick<SimulatedCluster, "audited" | "api" | "namespace" | "manifests">,
    directory: string,
    processes: PodProcesses,
  ) {
    this.audited = made.audited
    this.api = made.api
    this.namespace = made.namespace
    this.drivers = `${made.namespace}-drivers`
    this.manifests = made.manifests
    this.#directory = directory
    this.#processes = processes
  }

  static async open(
    programs: Readonly<Record<string, readonly [string, ...string[]]>> = {},
  ): Promise<SimulatedCluster> {
    const audited = await openAuditedCluster()
    const { cluster } = audited
    const namespace = `kubereel-simulation-${process.pid}`
    const words = [reel, "k8s", "--simulation", "--namespace", namespace]
    const manifests = parseObjects((await promisify(execFile)(process.execPath, words)).stdout)
    await apply(cluster, manifests)
    const definitions = manifests.filter((each) => each.kind === "CustomResourceDefinition")
    const names = definitions.map(({ metadata: { name } }) => `crd/${name}`)
    await kubectl(cluster, "wait", "--for=condition=Established", "--timeout=60s", ...names)
    // As on clusters with kwok: drivers run on nodes that run them, and pods of a replay on its own.
    await kubectl(cluster, "taint", "nodes", "-l", "type=virtual", "kwok-provider=true:NoSchedule", "--overwrite")
    const credentials = await loadCredentials({ kubeconfig: cluster.kubeconfig, context: undefined })
    const api = new ApiClient({ server: credentials, userAgent: "kubereel-test" })
    let opened: SimulatedCluster | undefined
    const directory = await mkdtemp(join(tmpdir(), "kubereel-simulations-"))
    const run = localProcess({
      programs: { "/sk-driver": [process.execPath, standIn], ...programs },
      endpoint: { server: cluster.connection.server, certificateAuthority: audited.authority },
      environment: { PATH: process.env.PATH, TMPDIR: tmpdir(), STAND_IN_DIRECTORY: directory },
      onOutput: (pod, chunk) => {
        if (opened !== undefined) opened.output += `${pod}: ${chunk}`
      },
    })
    const processes = await PodProcesses.start({
      server: credentials,
      address: machineAddress(),
      run: (start) => {
        opened?.started.push(start.pod.metadata.name)
        return run(start)
      },
    })
    opened = new SimulatedCluster({ audited, api, namespace, manifests }, directory, processes)
    return opened
  }

  /** The API server's name of the controller's account. */
  get user(): string {
    return `system:serviceaccount:${this.namespace}:${controllerName}`
  }

  /** `reel controller`, with a token of its account. */
  async startController(): Promise<ReelProcess> {
    const { cluster, authority } = this.audited
    const kubeconfig = join(this.#directory, "controller")
    if (!existsSync(kubeconfig)) {
      const token = await kubectl(cluster, "create", "token", controllerName, "--namespace", this.namespace)
      writeFileSync(kubeconfig, kubeconfigOf(cluster.connection.server, token.trim(), authority), { mode: 0o600 })
    }
    const words = ["controller", "--kubeconfig", kubeconfig, "--namespace", this.namespace, "--listen", "127.0.0.1:0"]
    const controller = new ReelProcess(words, { cwd: this.#directory })
    this.#controllers.push(controller)
    return controller
  }

  /** Of this machine, for a driver: the other worker's drivers have others, and so had those of the file before. */
  nextPort(): number {
    return 24_000 + 2_500 * (worker - 1) + (process.pid % 2_000) + this.#ports++
  }

  /** Creates a Simulation whose driver, the stand-in, ends after {@link finish}. */
  async create({ spec = {}, driver = {}, args = [] }: SimulationOptions = {}): Promise<string> {
    const name = `sim-${process.pid}-${this.#made++}`
    await this.api.create<ApiObject>(simulationKind, {
      apiVersion: "simkube.io/v1",
      kind: "Simulation",
      metadata: { name },
      spec: {
        driver: {
          ...{ image: "kubereel", namespace: this.drivers, port: this.nextPort() },
          ...{ tracePath: "s3://traces/none", virtualNsPrefix: name, args: ["--until", endOf(name), ...args] },
          ...driver,
        },
        ...spec,
      },
    })
    return name
  }

  /** The stand-in drivers of this Simulation end. */
  finish(name: string): void {
    writeFileSync(this.file(endOf(name)), "")
  }

  /** A file of this test. */
  file(name: string): string {
    return join(this.#directory, name)
  }

  textOf(name: string): string {
    return existsSync(this.file(name)) ? readFileSync(this.file(name), "utf8") : ""
  }

  simulation(name: string): Promise<Simulation> {
    return this.api.get<Simulation>(simulationKind, { name })
  }

  /** ms from now on until the Simulation is so. */
  async until(name: string, isSo: (simulation: Simulation) => boolean, deadlineMs = 30_000): Promise<number> {
    const startedMs = performance.now()
    let last: Simulation | undefined
    await until(
      async () => {
        last = await this.simulation(name)
        return isSo(last)
      },
      () => `${name}, which is ${JSON.stringify(last?.status)}\n${this.#said()}`,
      deadlineMs,
    )
    return performance.now() - startedMs
  }

  /** ms until it is in that state, and at the end of its life settled. */
  async reaches(name: string, state: string, deadlineMs?: number): Promise<number> {
    const isEnd = state === "Finished" || state === "Failed"
    const isSettled = ({ status }: Simulation): boolean =>
      status?.conditions?.some(({ type, status: is }) => type === "Progressing" && is === "True") !== true
    return this.until(name, (each) => each.status?.state === state && (!isEnd || isSettled(each)), deadlineMs)
  }

  async drivesOf(name: string, pods: number): Promise<void> {
    const webhooks = (): number =>
      this.output.split("\n").filter((line) => line.startsWith(`sk-${name}-driver`) && line.includes("webhook called"))
        .length
    await until(
      () => webhooks() >= pods,
      () => `${pods} drivers of ${name} whose webhooks are called\n${this.#said()}`,
      60_000,
    )
  }

  async delete(name: string): Promise<void> {
    await this.api.delete(simulationKind, { name })
  }

  /** Deletes it, and waits until it is gone. */
  async remove(name: string): Promise<void> {
    await this.delete(name)
    const isGone = (): Promise<boolean> =>
      this.simulation(name).then(
        () => false,
        (error) => (error instanceof NotFoundError ? true : Promise.reject(error)),
      )
    await until(isGone, () => `the end of ${name}\n${this.#said()}`, 60_000)
  }

  /** What is there of a Simulation: what has its label, its name or its owner, as `Kind name`, and namespaces of its replay. */
  async remains(name: string): Promise<ReadonlyArray<string>> {
    const lists = await Promise.all([...left, kinds.namespaces].map((each) => this.api.list<ApiObject>(each)))
    return lists
      .flatMap(({ items }) => items)
      .filter(
        ({ metadata, kind: what, ...rest }) =>
          metadata.labels?.[simulationLabel] === name ||
          metadata.ownerReferences?.some((owner) => owner.kind === "Simulation" && owner.name === name) === true ||
          metadata.name.startsWith(`${name}-`) ||
          metadata.name === name ||
          (what === "Lease" && (rest as { spec?: { holderIdentity?: string } }).spec?.holderIdentity === name),
      )
      .map(({ kind: what, metadata }) => `${what} ${metadata.name}`)
      .sort()
  }

  /** Pods and events of deleted owners go in the background. */
  async isClean(name: string): Promise<void> {
    let last: ReadonlyArray<string> = []
    await until(
      async () => {
        last = await this.remains(name)
        return last.length === 0
      },
      () => `nothing to be left of ${name}, but there are ${last.join(", ")}\n${this.#said()}`,
      30_000,
    )
  }

  /** Pods of a Simulation whose processes were started. */
  startsOf(name: string): ReadonlyArray<string> {
    return this.started.filter((pod) => pod.startsWith(`sk-${name}-driver`))
  }

  #said(): string {
    return `${this.#controllers.map((each) => each.said).join("\n")}\n${this.output}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { cluster } = this.audited
    const { items } = await this.api.list<Simulation>(simulationKind)
    for (const { metadata } of items.filter((each) => each.metadata.name.startsWith(`sim-${process.pid}-`))) {
      this.finish(metadata.name)
      // It may be gone since the list.
      await this.delete(metadata.name).catch((error) => {
        if (!(error instanceof NotFoundError)) throw error
      })
    }
    await Promise.all(this.#controllers.map((each) => each.kill()))
    await this.#processes.close()
    // Without a controller, nobody else ends what is left after a failed test.
    for (const { metadata } of items)
      await kubectl(
        ...([
          cluster,
          "patch",
          "sim",
          metadata.name,
          "--type=merge",
          "-p",
          '{"metadata":{"finalizers":null}}',
        ] as const),
      ).catch(() => undefined)
    // A node that nothing reports for is one that other tests of the same cluster would count.
    await kubectl(cluster, "delete", "node", processNode, "--ignore-not-found")
    await kubectl(cluster, "taint", "nodes", "-l", "type=virtual", "kwok-provider=true:NoSchedule-")
    for (const { kind: what, metadata } of this.manifests.filter((each) => each.metadata.namespace === undefined))
      await kubectl(cluster, "delete", what, metadata.name, "--ignore-not-found", "--wait=false")
    await kubectl(cluster, "delete", "namespace", this.drivers, "--ignore-not-found", "--wait=false")
    await kubectl(cluster, "delete", "clusterrolebinding", `sk-driver-${this.drivers}`, "--ignore-not-found")
    this.api.close()
    await this.audited[Symbol.asyncDispose]()
    await rm(this.#directory, { recursive: true, force: true })
  }
}

/** What must still be there after an end: what a user wants to look at. */
export const kept = (name: string, pods: ReadonlyArray<string>): ReadonlyArray<string> =>
  [`Job sk-${name}-driver`, ...pods.map((pod) => `Pod ${pod}`), `Simulation ${name}`].sort()
