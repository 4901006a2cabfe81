/** Opens {@link ServerKinds} in a scope, with the kinds that the server has now. */
import * as Effect from "effect/Effect"
import { systemClock } from "../../../clock.ts"
import type { ApiEndpoint } from "../../../kube/endpoint.ts"
import { HttpClient } from "../../../kube/http/http-client.ts"
import type { ReadTransport } from "../../../kube/http/transport.ts"
import type { RecorderLog } from "../../notices/notice-log.ts"
import { ServerKinds } from "./server-kinds.ts"
import type { WantedKinds } from "./wanted-kinds.ts"

/** ms that the start of a recorder waits for a server: one that does not respond is asked again while it runs. */
const patienceMs = 10_000

interface OpenOptions {
  readonly wanted: WantedKinds
  /** The present address and credentials, which the watchers look after. */
  readonly endpoint: () => ApiEndpoint
  readonly userAgent: string
  readonly log: RecorderLog
}

export const openServerKinds = ({ wanted, endpoint, userAgent, log }: OpenOptions) =>
  Effect.gen(function* () {
    const client = yield* Effect.acquireRelease(
      Effect.sync(() => new HttpClient(endpoint(), { userAgent })),
      (open) => Effect.sync(() => open.close()),
    )
    const current: ReadTransport = {
      get: (path, headers, handler) => {
        client.updateEndpoint(endpoint())
        return client.get(path, headers, handler)
      },
    }
    const serverKinds = yield* Effect.acquireRelease(
      Effect.sync(() => new ServerKinds({ client: current, wanted, clock: systemClock, log })),
      (open) => Effect.sync(() => open.stop()),
    )
    yield* Effect.raceFirst(
      Effect.promise(() => serverKinds.look()),
      Effect.sleep(patienceMs),
    )
    return serverKinds
  })
