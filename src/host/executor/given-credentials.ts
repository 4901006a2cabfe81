/**
 * Credentials that another thread fetches: after a 401 that thread gets one message, and requests wait until it has
 * given others, or the same again. There is no time limit here: requests have their own.
 */
import { isDeepStrictEqual } from "node:util"
import * as Schema from "effect/Schema"
import type { ApiEndpoint, EndpointSource } from "../../kube/index.ts"

/** An endpoint on its way between two threads, which pass it as it is. */
export const PassedEndpoint = Schema.declare((_: unknown): _ is ApiEndpoint => true)

export class GivenCredentials implements EndpointSource {
  #endpoint: ApiEndpoint
  readonly #refused: () => void
  #waiting: Array<() => void> = []

  /** `refused` is called when the present credentials were refused, not again before {@link give}. */
  constructor(endpoint: ApiEndpoint, refused: () => void) {
    this.#endpoint = endpoint
    this.#refused = refused
  }

  give(endpoint: ApiEndpoint): void {
    // The same object means to a connection that nothing has changed.
    if (!isDeepStrictEqual(endpoint, this.#endpoint)) this.#endpoint = endpoint
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }

  endpoint(): Promise<ApiEndpoint> {
    return Promise.resolve(this.#endpoint)
  }

  onUnauthorized(): Promise<void> {
    if (this.#waiting.length === 0) this.#refused()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }
}
