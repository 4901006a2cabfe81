/** How many subscriptions may be open at once, and what ends all of them. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { Places } from "../export/places.ts"

/** In all. One costs a timer, an open database and what it is sent. */
export const maximumSubscriptions = 64

/** Of one client: an identity at an address. */
export const maximumSubscriptionsPerClient = 8

export class Subscriptions extends Places {
  readonly #stopping = Deferred.makeUnsafe<void>()
  readonly #allEnded = Promise.withResolvers<void>()
  #isStopping = false

  constructor() {
    super({
      ...{ all: maximumSubscriptions, perClient: maximumSubscriptionsPerClient },
      allTaken: `${maximumSubscriptions} subscriptions are open`,
      ownTaken: `this client has ${maximumSubscriptionsPerClient} subscriptions`,
    })
  }

  /**
   * Completes when the recorder stops: every subscription must end. It is an Effect, because one that ends earlier can stop waiting; handlers
   * on a promise of the whole process are never released.
   */
  get stopping(): Effect.Effect<void> {
    return Deferred.await(this.#stopping)
  }

  /** Ends all of them, also those that come later. Resolves when there are none. */
  end(): Promise<void> {
    this.#isStopping = true
    Deferred.doneUnsafe(this.#stopping, Effect.void)
    this.givenBack()
    return this.#allEnded.promise
  }

  protected override givenBack(): void {
    if (this.#isStopping && this.count === 0) this.#allEnded.resolve()
  }
}
