/**
 * Decides how kinds are listed: as streaming lists or in pages, with or without gzip (docs/decisions/0032-gzip-on-lists.md).
 *
 * Kinds of aggregated APIs are listed in pages, because their servers often ignore `sendInitialEvents` or never send the end bookmark. Which they
 * are is asked for once, when the first kind that Kubernetes does not define itself is started. As long as that is not known, the time limits of
 * streaming lists apply.
 */
import type { Timers } from "../../clock.ts"
import { type ApiEndpoint, aggregatedApis, HttpClient, isAggregated, type ListManner } from "../../kube/index.ts"
import { parseGvk } from "../../kube/offline.ts"
import { isBuiltInKind, podLivesKind } from "../../trace/index.ts"
import { isLoopback } from "../access/open-access.ts"

/**
 * Whether lists may be compressed. `auto`: those in pages, if the API server is neither on this machine nor that of the pod's own cluster, and the kubeconfig
 * does not say `disable-compression`. `always`: all lists, which are then made in pages. `never`: none.
 */
export type ListCompression = "auto" | "always" | "never"

/** ms by which a watcher may start later because of the question; a server that is overloaded has the same limits for lists to come. */
const deadlineMs = 5_000

interface Surroundings {
  readonly compression: ListCompression
  readonly userAgent: string
  readonly timers: Timers
}

export class ListManners {
  readonly #surroundings: Surroundings
  /** Kept for the life of the process once known. */
  #aggregated: Promise<ReadonlySet<string> | undefined> | undefined

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings
  }

  /** How to list a kind of the server. Never rejects. */
  async of(gvk: string, endpoint: ApiEndpoint): Promise<ListManner> {
    const { compression } = this.#surroundings
    const gzip = compression === "always" || (compression === "auto" && isDistant(endpoint))
    return { gzip, inPages: compression === "always" || (await this.#isAggregated(gvk, endpoint)) }
  }

  async #isAggregated(text: string, endpoint: ApiEndpoint): Promise<boolean> {
    const gvk = mayBeAggregated(text) ? parseGvk(text) : undefined
    if (gvk === undefined) return false
    this.#aggregated ??= this.#ask(endpoint)
    const apis = await this.#aggregated
    if (apis === undefined) this.#aggregated = undefined
    return apis !== undefined && isAggregated(apis, gvk)
  }

  async #ask(endpoint: ApiEndpoint): Promise<ReadonlySet<string> | undefined> {
    const { userAgent, timers } = this.#surroundings
    const client = new HttpClient(endpoint, { userAgent, timers })
    try {
      return await aggregatedApis(client, { deadlineMs, timers })
    } finally {
      client.close()
    }
  }
}

/** Whether the recorder has to ask, to know how a kind is listed. */
export const mayBeAggregated = (gvk: string): boolean => gvk !== podLivesKind && !isBuiltInKind(gvk)

/** Whether the network to the server is one that gzip is worth while in, as far as the address tells. */
const isDistant = ({ server, prefersPlain, proxy }: ApiEndpoint): boolean => {
  const host = URL.parse(proxy ?? server)?.hostname.replace(/^\[(.*)\]$/, "$1") ?? ""
  return prefersPlain !== true && !isLoopback(host)
}
