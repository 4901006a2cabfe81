/** How many clients may follow what is recorded at once, and what ends all of them. */

/** In all. One costs a timer, an open database and what it is sent. */
export const maximumSubscriptions = 64

/** Of one client: an identity at an address. */
export const maximumSubscriptionsPerClient = 8

/** A place among the subscriptions. */
interface SubscriptionPlace {
  /** Resolves when the recorder stops: the subscription must end. */
  readonly stopping: Promise<void>
  /** May be called more than once. */
  readonly giveBack: () => void
}

export class Subscriptions {
  readonly #clients = new Map<string, number>()
  /** Of each that has a place: what tells it to end. */
  readonly #ends = new Set<() => void>()
  readonly #allEnded = Promise.withResolvers<void>()
  #isStopping = false

  /** How many there are. */
  get count(): number {
    return this.#ends.size
  }

  /** Takes a place, and returns what gives it back; or why there is none. */
  take(client: string): SubscriptionPlace | { readonly message: string } {
    const own = this.#clients.get(client) ?? 0
    if (this.count >= maximumSubscriptions)
      return { message: `${maximumSubscriptions} clients follow the recording, which is the limit; try again` }
    if (own >= maximumSubscriptionsPerClient)
      return {
        message: `this client has ${maximumSubscriptionsPerClient} subscriptions, which is the limit; try again`,
      }
    const { promise: stopping, resolve: end } = Promise.withResolvers<void>()
    this.#ends.add(end)
    if (this.#isStopping) end()
    this.#clients.set(client, own + 1)
    const giveBack = (): void => {
      if (!this.#ends.delete(end)) return
      const left = (this.#clients.get(client) ?? 1) - 1
      if (left === 0) this.#clients.delete(client)
      else this.#clients.set(client, left)
      this.#noteEnd()
    }
    return { stopping, giveBack }
  }

  /** Ends all of them, also those that come later. Resolves when there are none. */
  end(): Promise<void> {
    this.#isStopping = true
    for (const end of this.#ends) end()
    this.#noteEnd()
    return this.#allEnded.promise
  }

  #noteEnd(): void {
    if (this.#isStopping && this.count === 0) this.#allEnded.resolve()
  }
}
