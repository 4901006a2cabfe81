/** Credentials that are fetched here and used by another thread, which has `GivenCredentials`. */
import { type ApiEndpoint, CredentialRefresh, type EndpointSource } from "../../kube/index.ts"

/** Passes on what is new, and after a 401 for which the thread waits also the same again. One that starts meanwhile gets it once it runs. */
export class PassedCredentials {
  readonly #refresh: CredentialRefresh
  readonly #pass: (endpoint: ApiEndpoint) => void
  #latest: ApiEndpoint | undefined
  /** What the present life of the thread began with. */
  #began: ApiEndpoint | undefined
  #isWaiting = false
  #isClosed = false

  /** `pass` may be lost while the thread starts. `trouble`: why there are no fresh credentials. */
  constructor(source: EndpointSource, pass: (endpoint: ApiEndpoint) => void, trouble: (reason: string) => void) {
    this.#pass = pass
    this.#refresh = new CredentialRefresh(source, {
      had: (endpoint) => this.#has(endpoint),
      trouble: (reason) => {
        if (reason === undefined || this.#isClosed) return
        trouble(reason)
        // Requests that wait fail with the answer of the server; the guest decides what to do.
        if (this.#latest !== undefined) this.#has(this.#latest)
      },
    })
  }

  /** Call it before {@link begins}. Rejects if there have never been any credentials. */
  async fetch(): Promise<void> {
    this.#latest = await this.#refresh.current()
  }

  /** What a life of the thread begins with. */
  begins(): ApiEndpoint {
    if (this.#latest === undefined) throw new Error("no credentials have been fetched")
    this.#began = this.#latest
    return this.#began
  }

  /** The thread runs with what it began with. */
  runs(): void {
    if (this.#began !== undefined && this.#latest !== undefined && this.#latest !== this.#began)
      this.#pass(this.#latest)
  }

  /** The server has refused them; the thread keeps asking. */
  refresh(): void {
    this.#refresh.refresh()
  }

  /** The server has refused them, and the thread waits for others, or for the same again. */
  refused(): void {
    this.#isWaiting = true
    this.#refresh.refresh()
  }

  /** Fetches them if they are about to expire. Never rejects. */
  async renew(): Promise<void> {
    await this.#refresh.renew()
  }

  /** Nothing is passed on any more. */
  close(): void {
    this.#isClosed = true
  }

  #has(endpoint: ApiEndpoint): void {
    if (this.#isClosed || (endpoint === this.#latest && !this.#isWaiting)) return
    this.#latest = endpoint
    this.#isWaiting = false
    if (this.#began !== undefined) this.#pass(endpoint)
  }
}
