/**
 * The places of exports, dry runs and answers about the past that run at once, shared fairly among clients.
 *
 * An export whose client reads slowly costs memory but no time, so there are more places than cores, and no client has all of them.
 */

/** Exports at once, dry runs included. The exporter runs at low priority, so more of them slow down one another and nothing else. */
export const maximumExportsAtOnce = 8

/** Of one client: an identity at an address. */
export const maximumPerClient = 4

/** s after which a client that was rejected for lack of a place may try again. */
export const retryAfterSeconds = 5

/** One place, from its taking to its return. */
export interface Place {
  /** Returns it; may be called more than once. */
  readonly giveBack: () => void
}

interface PlaceLimits {
  readonly all: number
  readonly perClient: number
  /** Why there is no place: clauses that are followed by "which is the limit". */
  readonly allTaken: string
  readonly ownTaken: string
}

export class Places {
  readonly #limits: PlaceLimits
  readonly #held = new Map<Place, string>()

  constructor(limits: PlaceLimits) {
    this.#limits = limits
  }

  /** How many are taken. */
  get count(): number {
    return this.#held.size
  }

  /** A place for a client, an identity at an address; or why there is none. */
  take(client: string): Place | { readonly message: string } {
    const { all, perClient, allTaken, ownTaken } = this.#limits
    const own = [...this.#held.values()].filter((other) => other === client).length
    if (this.count >= all || own >= perClient)
      return { message: `${this.count >= all ? allTaken : ownTaken}, which is the limit; try again` }
    const place: Place = {
      giveBack: () => {
        if (this.#held.delete(place)) this.givenBack()
      },
    }
    this.#held.set(place, client)
    return place
  }

  /** Called after each return. */
  protected givenBack(): void {
    // Nothing to do here.
  }
}

export class ExportPlaces extends Places {
  constructor() {
    super({
      ...{ all: maximumExportsAtOnce, perClient: maximumPerClient },
      allTaken: `${maximumExportsAtOnce} exports are already running`,
      ownTaken: `${maximumPerClient} exports of this client are already running`,
    })
  }
}
