/** How many clients may follow what is recorded at once. */

/** In all. One costs a timer, an open database and what it is sent. */
export const maximumSubscriptions = 64

/** Of one client: an identity at an address. */
export const maximumSubscriptionsPerClient = 8

export class Subscriptions {
  readonly #clients = new Map<string, number>()
  #count = 0

  /** Takes a place, and returns what gives it back; or why there is none. */
  take(client: string): { readonly giveBack: () => void } | { readonly message: string } {
    const own = this.#clients.get(client) ?? 0
    if (this.#count >= maximumSubscriptions)
      return { message: `${maximumSubscriptions} clients follow the recording, which is the limit; try again` }
    if (own >= maximumSubscriptionsPerClient)
      return {
        message: `this client has ${maximumSubscriptionsPerClient} subscriptions, which is the limit; try again`,
      }
    this.#count++
    this.#clients.set(client, own + 1)
    let isHeld = true
    const giveBack = (): void => {
      if (!isHeld) return
      isHeld = false
      this.#count--
      const left = (this.#clients.get(client) ?? 1) - 1
      if (left === 0) this.#clients.delete(client)
      else this.#clients.set(client, left)
    }
    return { giveBack }
  }
}
