/** Hands the current address and credentials to the actors that talk to the API server, each once. */
import * as Effect from "effect/Effect"
import type { CredentialRefresh } from "../../kube/credentials/credential-refresh.ts"
import type { ApiEndpoint } from "../../kube/endpoint.ts"
import type { CallError } from "../../runtime/errors.ts"

/** An actor that takes credentials while it runs. */
export interface CredentialTaker {
  readonly name: string
  readonly take: (endpoint: ApiEndpoint) => Effect.Effect<void, CallError>
}

export class HandedCredentials {
  /** By actor. One that was starting when the credentials changed gets them after its next 401. */
  readonly #handed = new Map<string, ApiEndpoint>()
  readonly #run: (effect: Effect.Effect<void>) => void

  constructor(run: (effect: Effect.Effect<void>) => void) {
    this.#run = run
  }

  /** Hands these to every actor that has others. One that is not running gets the current ones when it starts. */
  handOver(endpoint: ApiEndpoint, takers: Iterable<CredentialTaker>): void {
    for (const { name, take } of takers) {
      if (this.#handed.get(name) === endpoint) continue
      this.#run(Effect.ignore(take(endpoint).pipe(Effect.map(() => this.#handed.set(name, endpoint)))))
    }
  }

  /** Those for the next life of an actor. */
  async forLife(name: string, credentials: Pick<CredentialRefresh, "current">): Promise<ApiEndpoint> {
    const endpoint = await credentials.current()
    this.#handed.set(name, endpoint)
    return endpoint
  }
}
