/** Resolves kinds to resources for `reel k8s`: through a cluster, or from the table of built-in kinds. */
import { discoverBuiltIn, type Resolve } from "../../k8s/index.ts"
import { loadCredentials } from "../../kube/credentials/credentials.ts"
import { discover } from "../../kube/discovery.ts"
import { HttpClient } from "../../kube/http/http-client.ts"
import { readVersion } from "../version.ts"

export interface ResolverOptions {
  readonly offline: boolean
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  readonly environment: Readonly<Record<string, string | undefined>>
}

type Resolved<T> =
  | { readonly _tag: "Resolved"; readonly value: T }
  /** No cluster is named, or its credentials cannot be loaded. */
  | { readonly _tag: "NoCluster"; readonly reason: string }

/** Calls `body` with a resolver and closes the connection to the cluster afterwards. Rejects if `body` does. */
export const withResolver = async <T>(
  { offline, ...options }: ResolverOptions,
  body: (resolve: Resolve) => Promise<T>,
): Promise<Resolved<T>> => {
  if (offline) return { _tag: "Resolved", value: await body(async (gvk) => discoverBuiltIn(gvk)) }
  const client = await connect(options).catch((cause: Error) => cause)
  if (client instanceof Error) return { _tag: "NoCluster", reason: client.message }
  try {
    return { _tag: "Resolved", value: await body((gvk) => discover(client, gvk)) }
  } finally {
    client.close()
  }
}

const connect = async (options: Omit<ResolverOptions, "offline">): Promise<HttpClient> => {
  const credentials = await loadCredentials(options)
  return new HttpClient(await credentials.endpoint(), { userAgent: `kubereel/${readVersion()}` })
}
