/** The identity of the recorded cluster, asked for once. */
import * as Effect from "effect/Effect"
import type { EndpointSource } from "../../kube/endpoint.ts"
import { HttpClient } from "../../kube/http/http-client.ts"
import { clusterUid } from "../../kube/watch/enquiries.ts"
import type { RecorderActors } from "./recorder-actors.ts"

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
    const endpoint = yield* Effect.tryPromise(() => credentials.endpoint())
    const client = new HttpClient(endpoint, { userAgent })
    const uid = yield* Effect.promise(() => clusterUid(client)).pipe(Effect.ensuring(Effect.sync(() => client.close())))
    // A watcher may have reported it meanwhile, more recently than this request.
    const isStillUnknown = (yield* actors.store.call("clusterUid", undefined)) === ""
    if (uid !== undefined && isStillUnknown) actors.suggestClusterUid(uid)
  }).pipe(Effect.ignore)
