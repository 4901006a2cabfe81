/**
 * Finds the resources of kinds that are named in code, such as `slinky.dev/v1.SimplePod`, also of those that are not installed yet.
 *
 * Guaranteed: waiting for a kind never fails; it ends when the server serves the kind, or with the signal. Unreachable servers and refusals are
 * waited for in the same way and reported, each reason once.
 */
import type { Clock } from "../../../clock.ts"
import { type ApiConnection, type Kind, NotFoundError, pause, ResourceFinder } from "../../../kube/index.ts"
import { familiarKind, formatGvk, type GroupVersionKind, parseGvk } from "../../../kube/offline.ts"
import { messageOf } from "../../../message-of.ts"

/** ms between two look-ups: a manifest with a CRD is applied within a second or so, and one small request each 5 s costs a server nothing. */
const firstPauseMs = 250
const longestPauseMs = 5000

export class KindResolver {
  readonly #finder: ResourceFinder
  readonly #clock: Clock
  readonly #trouble: (detail: string) => void

  constructor(connection: ApiConnection, clock: Clock, trouble: (detail: string) => void) {
    this.#finder = new ResourceFinder(connection)
    this.#clock = clock
    this.#trouble = trouble
  }

  /** Rejects with {@link NotFoundError} if the server has no such kind now, else with the error of the request. */
  find(gvk: GroupVersionKind): Promise<Kind> {
    return this.#finder.find(gvk)
  }

  /** Resolves with `undefined` if the signal is aborted first. Never rejects. */
  async whenServed(gvk: GroupVersionKind, signal: AbortSignal): Promise<Kind | undefined> {
    let reported: string | undefined
    for (let pauseMs = firstPauseMs; !signal.aborted; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
      try {
        return await this.#finder.find(gvk)
      } catch (error) {
        const reason = error instanceof NotFoundError ? notInstalled(gvk, error) : messageOf(error)
        if (reason !== reported && !signal.aborted) this.#trouble(`waiting for ${formatGvk(gvk)}: ${reason}`)
        reported = reason
      }
      await pause(this.#clock, pauseMs, signal)
    }
    return undefined
  }
}

const notInstalled = (gvk: GroupVersionKind, { causes }: NotFoundError): string => {
  const similar = causes.find(({ reason }) => reason === "SimilarKind")?.message ?? familiarKind(gvk)
  return `it is not installed${similar === undefined ? "" : `; did you mean ${similar}?`}`
}

/** Throws RangeError for text that names no kind: a mistake in the program. */
export const asGvk = (name: string): GroupVersionKind => {
  const gvk = parseGvk(name)
  if (gvk === undefined)
    throw new RangeError(`${JSON.stringify(name)} is not a kind such as v1.Pod or apps/v1.Deployment`)
  return gvk
}
