/**
 * The credentials of several clients in other threads: one refresh at a time. Credentials must not be passed to
 * clients that already have them: these would retry at once, and ask a server that rejects them in a loop.
 */

import { messageOf } from "../../message-of.ts"
import type { ApiEndpoint, EndpointSource } from "../endpoint.ts"

interface CredentialListener {
  /** Called with the credentials to use from now on; the same object as before if nothing has changed. */
  had(endpoint: ApiEndpoint): void
  /** Called with the reason when fresh credentials cannot be obtained, and with `undefined` when they can be again. */
  trouble(reason: string | undefined): void
}

export class CredentialRefresh {
  readonly #source: EndpointSource
  readonly #listener: CredentialListener
  #endpoint: ApiEndpoint | undefined
  #running: Promise<boolean> | undefined

  constructor(source: EndpointSource, listener: CredentialListener) {
    this.#source = source
    this.#listener = listener
  }

  /**
   * For a client that starts: fresh credentials if they can be obtained, else the last ones. A plugin that fails for a minute must not
   * look like a client that crashes. Rejects if there have never been any.
   */
  async current(): Promise<ApiEndpoint> {
    await this.renew()
    return this.#endpoint ?? (await this.#source.endpoint())
  }

  /** Call when the server has rejected the present credentials. */
  refresh(): void {
    void this.#fetch(() => this.#source.onUnauthorized())
  }

  /** Call when the credentials are about to expire or their files are to be read again. Returns whether that succeeded; never rejects. */
  renew(): Promise<boolean> {
    return this.#fetch(() => Promise.resolve())
  }

  #fetch(before: () => Promise<void>): Promise<boolean> {
    this.#running ??= this.#renewAfter(before).finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #renewAfter(before: () => Promise<void>): Promise<boolean> {
    try {
      await before()
      this.#endpoint = await this.#source.endpoint()
      this.#listener.trouble(this.#source.problem?.message)
      this.#listener.had(this.#endpoint)
      return this.#source.problem === undefined
    } catch (cause) {
      this.#listener.trouble(messageOf(cause))
      return false
    }
  }
}
