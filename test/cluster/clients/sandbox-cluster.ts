/** A sandbox with the workload controllers, as a cluster that programs access through a kubeconfig, over HTTPS with a token. */

import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Sandbox, WorkloadManager, type WorkloadOptions } from "../../../src/sandbox/index.ts"
import { makeCertificates } from "../../kube/certificates.ts"
import { readConnection } from "../connection.ts"
import { openTestCluster, type TestCluster } from "../guard.ts"

export interface SandboxCluster {
  readonly sandbox: Sandbox
  readonly cluster: TestCluster
  /** The failures of the controllers. */
  readonly troubles: ReadonlyArray<string>
  readonly close: () => Promise<void>
}

/** Uses the kubectl of the test cluster. */
export const startSandboxCluster = async (options: Partial<WorkloadOptions> = {}): Promise<SandboxCluster> => {
  const { kubectl } = await openTestCluster()
  const { server, authority } = makeCertificates()
  const tls = { key: server.key, cert: server.certificate, ca: authority }
  const sandbox = await Sandbox.start({ lifecycle: true, tls, token: "for-tests" })
  const troubles: string[] = []
  const onTrouble = (detail: string): number => troubles.push(detail)
  const manager = await WorkloadManager.start({ server: sandbox.endpoint, onTrouble, ...options })
  const directory = await mkdtemp(join(tmpdir(), "kubereel-clients-"))
  const kubeconfig = join(directory, "kubeconfig")
  const certificate = Buffer.from(authority).toString("base64")
  await writeFile(kubeconfig, kubeconfigOf(sandbox.url, certificate))
  const connection = await readConnection(kubeconfig)
  const close = async (): Promise<void> => {
    await manager.close()
    await sandbox.close()
    await rm(directory, { recursive: true, force: true })
  }
  return { sandbox, cluster: { kubeconfig, kubectl, connection }, troubles, close }
}

const kubeconfigOf = (server: string, certificate: string): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "sandbox", cluster: { server, "certificate-authority-data": certificate } }],
    users: [{ name: "tester", user: { token: "for-tests" } }],
    contexts: [{ name: "sandbox", context: { cluster: "sandbox", user: "tester" } }],
    "current-context": "sandbox",
  })
