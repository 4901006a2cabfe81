/** Resolves kinds to resources for `reel k8s`: through a cluster, or from the table of built-in kinds. */

import { discoverBuiltIn, type Resolve } from "../../k8s/index.ts"
import {
  type ApiEndpoint,
  discover,
  discoverKinds,
  HttpClient,
  loadCredentials,
  type NamedKind,
} from "../../kube/index.ts"
import { CommandFailed } from "../command-line/exit-codes.ts"
import { readVersion } from "../command-line/version.ts"

interface ResolverOptions {
  readonly offline: boolean
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  readonly environment: Readonly<Record<string, string | undefined>>
  /** What can be done without a cluster, for people. */
  readonly without: string
}

/** The names of all kinds of the cluster; none without a cluster, or if it does not tell. */
type KindNames = () => Promise<ReadonlyArray<NamedKind>>

/**
 * Calls `body` with a resolver and closes the connection to the cluster afterwards. `endpoint`: of the cluster that was asked, if one was. Rejects if `body` does,
 * and with CommandFailed if no cluster is named, or its credentials cannot be loaded.
 */
export const withResolver = async <T>(
  { offline, without, ...options }: ResolverOptions,
  body: (resolve: Resolve, kindNames: KindNames) => Promise<T>,
): Promise<{ readonly value: T; readonly endpoint: ApiEndpoint | undefined }> => {
  if (offline) {
    const value = await body(
      async (gvk) => discoverBuiltIn(gvk),
      async () => [],
    )
    return { value, endpoint: undefined }
  }
  const endpoint = await loadCredentials(options)
    .then((credentials) => credentials.endpoint())
    .catch((cause: Error) => {
      throw new CommandFailed(`${cause.message}\n${without}`)
    })
  const client = new HttpClient(endpoint, { userAgent: `kubereel/${readVersion()}` })
  const kindNames: KindNames = async () => {
    const discovered = await discoverKinds(client)
    return discovered.tag === "kinds" ? discovered.kinds : []
  }
  try {
    return { value: await body((gvk) => discover(client, gvk), kindNames), endpoint }
  } finally {
    client.close()
  }
}
