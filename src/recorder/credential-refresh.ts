/**
 * The credentials of all watchers: one refresh at a time, however many meet a 401 at once.
 *
 * Whoever hands them on must leave out watchers that have them already: fresh credentials make a watcher try again at once, and
 * a server that refuses them would be asked as fast as it answers.
 */
import type { ApiEndpoint, EndpointSource } from "../kube/endpoint.ts"
import { messageOf } from "../message-of.ts"

export interface CredentialListener {
  /** What is to be used now; the same object as before while nothing has changed. */
  had(endpoint: ApiEndpoint): void
  /** Fresh ones could not be had, and why; `undefined` when they can. */
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
   * For a watcher that starts: fresh if they can be had, else the last ones. A plugin that fails for a minute must not look
   * like a watcher that crashes. Rejects if there never were any.
   */
  async current(): Promise<ApiEndpoint> {
    await this.renew()
    return this.#endpoint ?? (await this.#source.endpoint())
  }

  /** The server refused the present ones. */
  refresh(): void {
    void this.#fetch(() => this.#source.onUnauthorized())
  }

  /** They are about to expire, or their files are to be read again. Answers whether that went well; never rejects. */
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
