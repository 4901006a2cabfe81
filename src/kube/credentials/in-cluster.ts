/**
 * The credentials of a pod: the address is in its environment, token and certificate authority are in files that the kubelet renews.
 */
import { access, readFile } from "node:fs/promises"
import { isIPv6 } from "node:net"
import { join } from "node:path"
import { type ContextSettings, noImpersonation } from "./settings.ts"

/** Where the kubelet mounts them, fixed by Kubernetes. */
export const serviceAccountDirectory = "/var/run/secrets/kubernetes.io/serviceaccount"

/** The settings if this is a pod with a service account; `undefined` otherwise. Never rejects. */
export const detectInCluster = async (
  environment: Readonly<Record<string, string | undefined>>,
  directory: string,
): Promise<ContextSettings | undefined> => {
  const host = environment.KUBERNETES_SERVICE_HOST
  const port = environment.KUBERNETES_SERVICE_PORT
  if (!host || !port) return undefined
  const tokenFile = join(directory, "token")
  const hasToken = await access(tokenFile).then(
    () => true,
    () => false,
  )
  if (!hasToken) return undefined
  const namespace = await readFile(join(directory, "namespace"), "utf8").catch(() => "")
  return {
    name: "in-cluster",
    cluster: {
      name: "in-cluster",
      server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
      certificateAuthority: { tag: "file", path: join(directory, "ca.crt") },
      skipTlsVerify: false,
      tlsServerName: undefined,
      disableCompression: true,
      proxyUrl: undefined,
      execConfig: undefined,
    },
    user: {
      name: "service account",
      identification: { tag: "token-file", path: tokenFile },
      clientCertificate: undefined,
      impersonation: noImpersonation,
    },
    namespace: namespace.trim() || "default",
  }
}
