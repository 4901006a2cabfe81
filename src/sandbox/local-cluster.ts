/**
 * A small complete cluster in this process: API server, namespace controller and garbage collector, workload
 * controllers, a scheduler and virtual nodes that run pods. Controllers and {@link LocalCluster.client} write without
 * sockets (600 Pods of a Deployment came up with 12 % less CPU): faults of the sandbox concern only their lists and
 * watches.
 */
import { writeFile } from "node:fs/promises"
import { ApiClient } from "../kube/index.ts"
import { kubeconfigOfContexts } from "../kube/offline.ts"
import { LocalTransport } from "./local-transport.ts"
import { Sandbox, type SandboxOptions } from "./sandbox.ts"
import type { VirtualNodesOptions } from "./workload/nodes/virtual-nodes.ts"
import { WorkloadManager, type WorkloadOptions } from "./workload/workload-manager.ts"

export interface LocalClusterOptions extends Omit<SandboxOptions, "lifecycle"> {
  /** The number of virtual nodes, or their options. Default 3. */
  readonly nodes?: number | VirtualNodesOptions
  /** How long pods take to start and stop on the nodes. */
  readonly delays?: WorkloadOptions["delays"]
  /** Gets what an operator should see: refused requests, failing watches. Default: dropped. */
  readonly onTrouble?: (detail: string) => void
}

export class LocalCluster implements AsyncDisposable {
  readonly sandbox: Sandbox
  /** A client for the program around the cluster. */
  readonly client: ApiClient
  readonly #manager: WorkloadManager
  readonly #transports: ReadonlyArray<LocalTransport>

  private constructor(sandbox: Sandbox, manager: WorkloadManager, transport: LocalTransport, own: LocalTransport) {
    this.sandbox = sandbox
    this.#manager = manager
    this.#transports = [transport, own]
    this.client = new ApiClient({ server: own, userAgent: "kubereel-sandbox" })
  }

  /** Resolves when the nodes exist and the controllers watch. Rejects if the port is taken. */
  static async start(options: LocalClusterOptions = {}): Promise<LocalCluster> {
    const { nodes = 3, delays, onTrouble, ...server } = options
    const sandbox = await Sandbox.start({
      ...server,
      lifecycle: true,
      ...(onTrouble !== undefined && { onTrouble }),
    })
    // A port that asks for certificates refuses clients without one, and the cluster's own have none.
    const passage = { isInMemory: server.tls?.requestCert === true }
    const transport = new LocalTransport(sandbox, "kubereel-workload", passage)
    try {
      const manager = await WorkloadManager.start({
        server: transport,
        nodes,
        ...(server.clock !== undefined && { clock: server.clock }),
        ...(delays !== undefined && { delays }),
        ...(onTrouble !== undefined && { onTrouble }),
      })
      return new LocalCluster(sandbox, manager, transport, new LocalTransport(sandbox, "kubereel-sandbox", passage))
    } catch (error) {
      transport.close()
      await sandbox.close()
      throw error
    }
  }

  /** Stops the controllers first, so that nothing is written to a closing server. */
  async close(): Promise<void> {
    this.client.close()
    await this.#manager.close()
    for (const transport of this.#transports) transport.close()
    await this.sandbox.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** Name of cluster, user and context in a sandbox's kubeconfig, by which it is recognized. */
export const sandboxContext = "kubereel-sandbox"

/**
 * The kubeconfig of a sandbox, as JSON, which is also YAML. `token`: the one that the sandbox requires; kubectl sends
 * it over HTTPS only. `authority`: of its certificate, PEM; absent for plain HTTP.
 */
export const kubeconfigOf = (server: string, token?: string, authority?: string): string =>
  kubeconfigOfContexts({ contexts: [{ name: sandboxContext, server }], user: sandboxContext, token, authority })

/** Writes the kubeconfig, readable by its owner only. */
export const writeKubeconfig = (path: string, server: string, token?: string, authority?: string): Promise<void> =>
  writeFile(path, kubeconfigOf(server, token, authority), { mode: 0o600 })
