/** The cluster that a replay drives: one of a kubeconfig, or a sandbox in this process. */
import {
  ApiClient,
  type ApiError,
  backOff,
  type EndpointSource,
  isSafeToRepeat,
  loadCredentials,
} from "../../kube/index.ts"
import { isLoopback } from "../../recorder/index.ts"
import { guessedKind } from "../../rehearsal/index.ts"
import { LocalCluster, LocalTransport } from "../../sandbox/index.ts"
import { isFieldConflict } from "../../simulation/index.ts"
import { readVersion } from "../command-line/version.ts"

export interface TargetRequest {
  /** Neither: a sandbox. */
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  readonly concurrency: number
}

export interface OpenTarget extends AsyncDisposable {
  readonly client: ApiClient
  /**
   * For the webhook: while a write of {@link client} waits for the API server, that waits for the webhook, whose requests must not wait for a
   * free connection of {@link client}.
   */
  readonly podsClient: ApiClient
  /** Whether the API server can call addresses of this machine's loopback. */
  readonly isHere: boolean
  /** For a recorder, which talks HTTP to a sandbox too. */
  readonly endpoints: EndpointSource
  /**
   * Serves the custom kinds of a trace that does not define them, under the names that they are most likely to have. Only a sandbox can; any other
   * cluster is left as it is.
   */
  readonly serveKinds: (kinds: ReadonlyMap<string, boolean>) => void
  /** For people. */
  readonly description: string
}

/** Enough nodes for most traces; a pod that fits nowhere stays pending, as it would in a cluster. */
const sandboxNodes = 10

/**
 * A server that restarts is away for some seconds: 12 attempts within about half a minute. A deletion that may have happened is repeated
 * too, because the second one only finds nothing.
 */
export const replayRetries = backOff({
  random: Math.random,
  attempts: 12,
  baseMs: 100,
  maximumMs: 5000,
  mayRepeat: (error: ApiError) =>
    isSafeToRepeat(error) || isMomentary(error) || (isRepeatable(error) && isTransient(error)),
})

/** A namespace that exists already is recognised as ours, so its creation can be repeated as well. */
const isRepeatable = ({ verb, kind }: ApiError): boolean =>
  verb === "delete" || (verb === "create" && kind === "v1.Namespace")

/** A conflict that is not about the owner of a field: two writers met, such as creations that count against one quota. */
const isMomentary = (error: ApiError): boolean => error._tag === "ConflictError" && !isFieldConflict(error)

const isTransient = (error: ApiError): boolean =>
  error._tag === "ApiUnreachableError"
    ? error.failure === "connection" || error.failure === "deadline"
    : error._tag === "ApiRefusalError" && error.code >= 500

/** Rejects with a CredentialsError. */
export const openTarget = async (request: TargetRequest): Promise<OpenTarget> => {
  const { kubeconfig, context, concurrency } = request
  const userAgent = `kubereel/${readVersion()}`
  const options = { userAgent, maximumConcurrent: concurrency, retries: replayRetries }
  if (kubeconfig !== undefined || context !== undefined) {
    const credentials = await loadCredentials({ kubeconfig, context })
    const client = new ApiClient({ ...options, server: credentials })
    const podsClient = new ApiClient({ ...options, server: credentials })
    const { server } = await credentials.endpoint()
    const { hostname } = new URL(server)
    return {
      client,
      endpoints: credentials,
      podsClient,
      isHere: isLoopback(hostname.replace(/^\[|\]$/g, "")),
      serveKinds: () => undefined,
      description: server,
      [Symbol.asyncDispose]: async () => {
        client.close()
        podsClient.close()
      },
    }
  }
  // Its controllers' complaints are dropped: while a replay is removed, they are about objects that have just gone.
  const cluster = await LocalCluster.start({ nodes: sandboxNodes, ledger: "none" })
  const transport = new LocalTransport(cluster.sandbox, "kubereel")
  const client = new ApiClient({ ...options, server: transport })
  const podsClient = new ApiClient({ ...options, server: transport })
  return {
    client,
    podsClient,
    isHere: true,
    endpoints: { endpoint: async () => cluster.sandbox.endpoint, onUnauthorized: async () => undefined },
    serveKinds: (kinds) => {
      for (const [gvk, isNamespaced] of kinds) {
        const guessed = cluster.sandbox.serves(gvk) ? undefined : guessedKind(gvk, isNamespaced)
        if (guessed !== undefined) cluster.sandbox.register(guessed)
      }
    },
    description: `a sandbox with ${sandboxNodes} virtual nodes`,
    [Symbol.asyncDispose]: async () => {
      client.close()
      podsClient.close()
      transport.close()
      await cluster.close()
    },
  }
}
