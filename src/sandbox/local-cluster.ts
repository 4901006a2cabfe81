/**
 * A whole little cluster in this process: API server, what a controller manager does for namespaces and dependents, workload
 * controllers, a scheduler and virtual nodes that run pods. Controllers and {@link LocalCluster.client} write without
 * sockets (600 Pods of a Deployment came up with 12 % less CPU): faults of the sandbox concern only their lists and watches.
 */
import { writeFile } from "node:fs/promises"
import { ApiClient } from "../kube/client/api-client.ts"
import { LocalTransport } from "./local-transport.ts"
import { Sandbox, type SandboxOptions } from "./sandbox.ts"
import { WorkloadManager, type WorkloadOptions } from "./workload/workload-manager.ts"

export interface LocalClusterOptions extends Omit<SandboxOptions, "lifecycle"> {
  /** Virtual nodes. Default 3. */
  readonly nodes?: number
  /** How long things take on them. */
  readonly delays?: WorkloadOptions["delays"]
  /** Told what an operator should see: refused requests, failing watches. Default: nobody. */
  readonly onTrouble?: (detail: string) => void
}

export class LocalCluster implements AsyncDisposable {
  readonly sandbox: Sandbox
  /** A client for whoever wants to make something happen in it. */
  readonly client: ApiClient
  readonly #manager: WorkloadManager
  readonly #transports: ReadonlyArray<LocalTransport>

  private constructor(sandbox: Sandbox, manager: WorkloadManager, transport: LocalTransport) {
    this.sandbox = sandbox
    this.#manager = manager
    const own = new LocalTransport(sandbox, "kubereel-sandbox")
    this.#transports = [transport, own]
    this.client = new ApiClient({ server: own, userAgent: "kubereel-sandbox" })
  }

  /** Resolves when the nodes exist and the controllers watch. Rejects when the port cannot be had. */
  static async start(options: LocalClusterOptions = {}): Promise<LocalCluster> {
    const { nodes = 3, delays, onTrouble, ...server } = options
    const sandbox = await Sandbox.start({
      ...server,
      lifecycle: true,
      ...(onTrouble !== undefined && { onTrouble }),
    })
    const transport = new LocalTransport(sandbox, "kubereel-workload")
    try {
      const manager = await WorkloadManager.start({
        server: transport,
        nodes,
        ...(server.clock !== undefined && { clock: server.clock }),
        ...(delays !== undefined && { delays }),
        ...(onTrouble !== undefined && { onTrouble }),
      })
      return new LocalCluster(sandbox, manager, transport)
    } catch (error) {
      transport.close()
      await sandbox.close()
      throw error
    }
  }

  /** Ends controllers first, so that nothing is written to a server that is going. */
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

/** Name of cluster, user and context in a sandbox's kubeconfig, by which one is known again. */
export const sandboxContext = "kubereel-sandbox"

/** The kubeconfig of a sandbox, as JSON, which is YAML too. `token`: the one it asks for. */
export const kubeconfigOf = (server: string, token?: string): string =>
  `${JSON.stringify(
    {
      apiVersion: "v1",
      kind: "Config",
      // There is no TLS to verify; without saying so client-node refuses to talk plain HTTP.
      clusters: [{ name: sandboxContext, cluster: { server, "insecure-skip-tls-verify": true } }],
      users: [{ name: sandboxContext, user: token === undefined ? {} : { token } }],
      contexts: [{ name: sandboxContext, context: { cluster: sandboxContext, user: sandboxContext } }],
      "current-context": sandboxContext,
    },
    undefined,
    2,
  )}\n`

/** Writes the kubeconfig for its owner's eyes only. */
export const writeKubeconfig = (path: string, server: string, token?: string): Promise<void> =>
  writeFile(path, kubeconfigOf(server, token), { mode: 0o600 })
