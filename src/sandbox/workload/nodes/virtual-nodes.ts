/**
 * Node objects that look alive: a Lease renewed every 10 s, a status rewritten every 5 min. They are created if they
 * do not exist and stay when the manager stops; without heartbeats they look dead, as real nodes do.
 */
import type { Timer } from "../../../clock.ts"
import type { Cluster, Controller, Surroundings } from "../../../host/index.ts"
import {
  AlreadyExistsError,
  type ApiObject,
  isTerminatingNamespace,
  type Kind,
  kinds,
  type Node,
  NotFoundError,
  type Taint,
} from "../../../kube/index.ts"
import type { HostAddress } from "./pod-runner.ts"

export interface VirtualNodesOptions {
  /** Number of nodes. 0: none. */
  readonly count: number
  /** Names are this prefix and a number from 1. Default `virtual-`. */
  readonly prefix?: string
  /** In addition to the usual ones. Default `type: virtual`, which SimKube selects. */
  readonly labels?: Readonly<Record<string, string>>
  /** Resources of each node. Default 64 CPUs, 256 GiB, 500 Pods. */
  readonly capacity?: Readonly<Record<string, string>>
  /** Default: none. With one, only pods that are meant for virtual nodes come to them. */
  readonly taints?: ReadonlyArray<Taint>
}

/** kubelet: nodeLeaseDurationSeconds 40, renewed at a quarter of it; nodeStatusReportFrequency 5 min. */
const leaseSeconds = 40
const renewMs = 10_000
const reportMs = 300_000
const leaseNamespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "kube-node-lease" } }
const defaultCapacity = { cpu: "64", memory: "256Gi", pods: "500", "ephemeral-storage": "1Ti" }

interface VirtualNodes extends Controller {
  readonly hostAddress: HostAddress
  /** Resolves when all Node objects exist. */
  prepare(): Promise<void>
}

export const virtualNodes = ({ cluster }: Surroundings, options: VirtualNodesOptions): VirtualNodes => {
  const { count, prefix = "virtual-" } = options
  const names = Array.from({ length: count }, (_, index) => `${prefix}${index + 1}`)
  // Node addresses are from 10.64.0.0/10, starting at .1.
  const addresses = new Map(names.map((name, index) => [name, `10.64.${(index + 1) >> 8}.${(index + 1) & 255}`]))
  const timers = new Set<Timer>()
  const running = new Set<Promise<void>>()
  let isClosed = false

  const report = (name: string): Promise<void> => reportNode(cluster, options, name, addresses.get(name) ?? "")

  const later = (ms: number, action: () => void): void => {
    const timer = cluster.clock.after(ms, () => {
      timers.delete(timer)
      if (!isClosed) action()
    })
    timers.add(timer)
  }

  /** Repeats until closed; a failure is reported, and the next round tries again. */
  const repeat = (everyMs: number, what: string, action: () => Promise<void>): void => {
    const round = action()
      .catch((error: unknown) => {
        if (!isTerminatingNamespace(error)) cluster.trouble(`${what}: ${String(error)}`)
      })
      .finally(() => running.delete(round))
    running.add(round)
    later(everyMs, () => repeat(everyMs, what, action))
  }

  return {
    name: "virtual-nodes",
    hostAddress: (node) => addresses.get(node),
    async prepare() {
      if (count > 0) await ensure(cluster, kinds.namespaces, leaseNamespace)
      for (const name of names) await report(name)
    },
    start() {
      for (const name of names) {
        repeat(renewMs, `lease of ${name}`, () => renewLease(cluster, name))
        later(reportMs, () => repeat(reportMs, `status of ${name}`, () => report(name)))
      }
    },
    async close() {
      isClosed = true
      for (const timer of timers) timer.cancel()
      await Promise.all(running)
    },
  }
}

/** Creates the object, or reads the one that exists. */
const ensure = async <T extends ApiObject>(cluster: Cluster, kind: Kind, object: T): Promise<T> => {
  try {
    return await cluster.create(kind, object)
  } catch (error) {
    if (!(error instanceof AlreadyExistsError)) throw error
    return cluster.api.get<T>(kind, object.metadata)
  }
}

const nodeOf = (name: string, { labels = { type: "virtual" }, taints = [] }: VirtualNodesOptions): Node => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: {
    name,
    labels: {
      "beta.kubernetes.io/arch": "amd64",
      "beta.kubernetes.io/os": "linux",
      "kubernetes.io/arch": "amd64",
      "kubernetes.io/hostname": name,
      "kubernetes.io/os": "linux",
      ...labels,
    },
  },
  spec: taints.length === 0 ? {} : { taints },
})

/** Writes the status of a node, which is made if there is none. */
const reportNode = async (
  cluster: Cluster,
  options: VirtualNodesOptions,
  name: string,
  address: string,
): Promise<void> => {
  const { capacity = defaultCapacity } = options
  const now = cluster.now()
  const known = cluster.cache<Node>(kinds.nodes).get(undefined, name)
  const node = known ?? (await ensure(cluster, kinds.nodes, nodeOf(name, options)))
  const status = {
    capacity,
    allocatable: capacity,
    conditions: nodeConditions.map(([type, value, reason, message]) => {
      const since = node.status?.conditions?.find((before) => before.type === type && before.status === value)
      const lastTransitionTime = since?.lastTransitionTime ?? now
      return { type, status: value, lastHeartbeatTime: now, lastTransitionTime, reason, message }
    }),
    addresses: [
      { type: "InternalIP", address },
      { type: "Hostname", address: name },
    ],
    daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
    nodeInfo,
  }
  const reported = await cluster.patch<Node>(kinds.nodes, node, "merge", { status }, "status")
  // Servers taint a node that has not reported yet; removing the taint is a controller's job, and there may be no such
  // controller here.
  const present = reported.spec?.taints ?? []
  const left = present.filter(({ key }) => key !== "node.kubernetes.io/not-ready")
  if (left.length < present.length)
    await cluster.patch<Node>(kinds.nodes, reported, "merge", { spec: { taints: left } })
}

const renewLease = async (cluster: Cluster, name: string): Promise<void> => {
  const renewTime = microTime(cluster.clock.wallMicros())
  const place = { namespace: leaseNamespace.metadata.name, name }
  try {
    await cluster.api.patch(kinds.leases, place, "merge", { spec: { renewTime } })
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error
    const node = await cluster.api.get<Node>(kinds.nodes, { name })
    const owner = { apiVersion: "v1", kind: "Node", name, uid: node.metadata.uid ?? "" }
    const lease: ApiObject = {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { ...place, ownerReferences: [owner] },
      spec: { holderIdentity: name, leaseDurationSeconds: leaseSeconds, renewTime },
    }
    await cluster.api.create(kinds.leases, lease)
  }
}

const nodeConditions = [
  ["MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"],
  ["DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"],
  ["PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"],
  ["Ready", "True", "KubeletReady", "kubelet is posting ready status"],
] as const

const nodeInfo = {
  machineID: "",
  systemUUID: "",
  bootID: "",
  kernelVersion: "",
  osImage: "kubereel sandbox",
  containerRuntimeVersion: "sandbox://1",
  kubeletVersion: "v1.34.4",
  kubeProxyVersion: "",
  operatingSystem: "linux",
  architecture: "amd64",
}

/** Leases need six digits: servers refuse three (kubernetes/kubernetes#141204). */
export const microTime = (micros: number): string =>
  `${new Date(Math.floor(micros / 1000)).toISOString().slice(0, 19)}.${String(micros % 1_000_000).padStart(6, "0")}Z`
