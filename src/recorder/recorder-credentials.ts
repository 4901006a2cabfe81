/** The credentials of a recorder, and the first question that is asked with them. */
import * as Effect from "effect/Effect"
import { type ApiEndpoint, clusterUid, type EndpointSource, HttpClient, loadCredentials } from "../kube/index.ts"
import type { RecorderSettings } from "./recorder.ts"
import type { RecorderActors } from "./recording/recorder-actors.ts"

/** Those of a kubeconfig, or given by the caller. Fails if they cannot be had now: a mistake in a file or a plugin must not be retried for ever. */
export const openCredentials = ({ server, kubeconfig, context }: RecorderSettings) =>
  Effect.tryPromise({
    try: async () => {
      const source = server === undefined ? await loadCredentials({ kubeconfig, context }) : givenCredentials(server)
      let endpoint = await source.endpoint()
      const endpoints: EndpointSource = {
        endpoint: async () => {
          endpoint = await source.endpoint()
          return endpoint
        },
        onUnauthorized: () => source.onUnauthorized(),
        get problem() {
          return source.problem
        },
      }
      /** `current`: the endpoint that was obtained last. */
      return { source, endpoints, current: () => endpoint, description: source.description }
    },
    catch: (cause) => cause as Error,
  })

/** Credentials that the caller looks after: an endpoint that stays as it is, or a source that renews it. */
const givenCredentials = (server: ApiEndpoint | EndpointSource) => {
  const isSource = "endpoint" in server
  return {
    endpoint: async () => (isSource ? server.endpoint() : server),
    onUnauthorized: async () => (isSource ? server.onUnauthorized() : undefined),
    get problem() {
      return isSource ? server.problem : undefined
    },
    refreshAfter: undefined,
    description: isSource ? "the given API server" : server.server,
    defaultNamespace: "default",
  }
}

/**
 * Remembers which cluster this is, so that another one behind the same address is noticed (docs/facts/watch-protocol.md, rule 12). Without
 * permission, only resourceVersions reveal it.
 */
export const learnCluster = (
  actors: Pick<RecorderActors, "store" | "suggestClusterUid">,
  credentials: EndpointSource,
  userAgent: string,
) =>
  Effect.gen(function* () {
    const known = yield* actors.store.call("clusterUid", undefined)
    if (known !== "") return
    const uid = yield* Effect.tryPromise(() => askClusterUid(credentials, userAgent))
    // A watcher may have reported it meanwhile, more recently than this request.
    const isStillUnknown = (yield* actors.store.call("clusterUid", undefined)) === ""
    if (uid !== "" && isStillUnknown) actors.suggestClusterUid(uid)
  }).pipe(Effect.ignore)

/** UID of the namespace kube-system; the empty string: the server does not say it. Rejects if there are no credentials. */
export const askClusterUid = async (credentials: EndpointSource, userAgent: string): Promise<string> => {
  const client = new HttpClient(await credentials.endpoint(), { userAgent })
  try {
    return (await clusterUid(client)) ?? ""
  } finally {
    client.close()
  }
}

type Credentials = EndpointSource & { readonly refreshAfter: number | undefined }

/** ms between two attempts to renew credentials. */
const failedRefreshMs = 10_000

/** Fetches fresh credentials before they expire, for as long as the scope is open. */
export const refreshCredentials = (actors: RecorderActors, credentials: Credentials) =>
  Effect.forkScoped(
    Effect.forever(
      Effect.suspend(() => {
        const { refreshAfter } = credentials
        if (refreshAfter === undefined) return Effect.never
        return Effect.sleep(Math.max(1000, refreshAfter)).pipe(
          Effect.andThen(Effect.promise(() => actors.renewCredentials())),
          // Limits how often a failing plugin is run, as after a 401.
          Effect.andThen((wentWell) => (wentWell ? Effect.void : Effect.sleep(failedRefreshMs))),
        )
      }),
    ),
  )
