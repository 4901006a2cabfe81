/**
 * A pod whose process runs on this machine: the API server, its controllers and its service proxy see a node with a running,
 * ready pod, because the test writes what a kubelet would; their address is the machine's. Loopback would not work: an API server
 * does not proxy to it.
 */
import { networkInterfaces } from "node:os"
import { until } from "../../recorder/recorder/recorder-command.ts"
import { kubectl } from "../command.ts"
import type { TestCluster } from "../guard.ts"
import { apply, type KubernetesObject } from "./installation.ts"

/** An IPv4 address of this machine that is not loopback. */
export const machineAddress = (): string => {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  const found = addresses.find(({ family, internal }) => family === "IPv4" && !internal)
  if (found === undefined) throw new Error("this machine has no IPv4 address that an API server would proxy to")
  return found.address
}

export interface StandInPodOptions {
  readonly namespace: string
  /** Name of the pod, and of its own node. */
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly spec: Readonly<Record<string, unknown>>
}

export class StandInPod {
  readonly #cluster: TestCluster
  readonly #options: StandInPodOptions
  readonly #node: KubernetesObject

  private constructor(cluster: TestCluster, options: StandInPodOptions) {
    this.#cluster = cluster
    this.#options = options
    this.#node = { apiVersion: "v1", kind: "Node", metadata: { name: options.name } }
  }

  static async create(cluster: TestCluster, options: StandInPodOptions): Promise<StandInPod> {
    const { namespace, name, labels, spec } = options
    const pod = new StandInPod(cluster, options)
    await apply(cluster, [
      pod.#node,
      { apiVersion: "v1", kind: "Pod", metadata: { name, namespace, labels }, spec: { ...spec, nodeName: name } },
    ])
    return pod
  }

  /** Reports it ready until the Service of that name has it. A node without heartbeats loses its pods within a minute. */
  async readyFor(service: string): Promise<void> {
    const { namespace } = this.#options
    const isThere = async (): Promise<boolean> => {
      await this.#report("True")
      const json = await kubectl(this.#cluster, "-n", namespace, "get", "endpoints", service, "-o", "json")
      return json.includes(`"ip": "${machineAddress()}"`)
    }
    await until(isThere, () => `an endpoint of ${namespace}/${service}`, 60_000)
  }

  /** Reports it not ready until the Service has no endpoint any more. */
  async unreadyFor(service: string): Promise<void> {
    const { namespace } = this.#options
    await this.#report("False")
    const isGone = async (): Promise<boolean> => {
      const path = "jsonpath={.subsets[*].addresses}"
      return (await kubectl(this.#cluster, "-n", namespace, "get", "endpoints", service, "-o", path)) === ""
    }
    await until(isGone, () => `${namespace}/${service} to be without endpoints`, 60_000)
  }

  async remove(): Promise<void> {
    const { namespace, name } = this.#options
    await kubectl(
      this.#cluster,
      "-n",
      namespace,
      "delete",
      "pod",
      name,
      "--force",
      "--grace-period=0",
      "--ignore-not-found",
    )
    await kubectl(this.#cluster, "delete", "node", name, "--ignore-not-found")
  }

  async #report(ready: "True" | "False"): Promise<void> {
    const { namespace, name } = this.#options
    const at = new Date().toISOString().replace(/\.\d+Z$/, "Z")
    const patch = (status: object, ...what: string[]) =>
      kubectl(this.#cluster, ...what, "--subresource=status", "--type=strategic", "-p", JSON.stringify({ status }))
    const condition = { type: "Ready", reason: "Test", lastHeartbeatTime: at }
    await patch({ conditions: [{ ...condition, status: "True" }] }, "patch", "node", name)
    const ip = machineAddress()
    const conditions = [{ type: "Ready", status: ready, lastTransitionTime: at }]
    const status = { phase: "Running", podIP: ip, podIPs: [{ ip }], conditions }
    await patch(status, "patch", "-n", namespace, "pod", name)
  }
}
