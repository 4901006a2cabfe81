/**
 * Which watches a module may have: those of objects that its ServiceAccount may `list` and `watch`, because the hub watches with the rights of the host.
 *
 * Guaranteed:
 * - Exactly what the hub would watch is checked, in the namespace asked for or in all of them. A watch of one object by
 *   `metadata.name` needs the rights to that object only, as the API server has it.
 * - Nothing is allowed by a guess: a kind that the server does not have has no plural and no scope yet, so its watch waits and
 *   is checked once the kind exists. What a guess had allowed in one namespace could turn out to be of the whole cluster.
 * - A 403 always means that the right is missing. If that cannot be found out, the refusal is a 503, and the module may try again.
 */
import type { Clock } from "../../clock.ts"
import { type Kind, NotFoundError, type ResourceFinder } from "../../kube/index.ts"
import { formatGvk, type GroupVersionKind, parseFieldSelector, parseGvk } from "../../kube/offline.ts"
import { messageOf } from "../../message-of.ts"
import type { WatchRequest } from "../guest/abi-values.ts"
import type { AccessReviewer } from "../identity/access-reviewer.ts"
import { type ServiceAccountName, userOfAccount } from "../identity/service-account.ts"
import { gvkOf, type WatchAnswer, type WatchRefusal } from "./watch-registry.ts"

interface WatchAccessOptions {
  /** Its answers count for as long as it caches them. */
  readonly reviewer: Pick<AccessReviewer, "answer">
  readonly finder: Pick<ResourceFinder, "find" | "forget">
  readonly clock: Pick<Clock, "monotonicMs">
}

/** ms after which a kind is looked up again: meanwhile it may have been removed, and installed with another scope. */
const kindMs = 60_000

const verbs = ["list", "watch"] as const

export class WatchAccess {
  readonly #options: WatchAccessOptions
  /** When each kind was looked up, in monotonic ms. */
  readonly #foundAt = new Map<string, number>()

  constructor(options: WatchAccessOptions) {
    this.#options = options
  }

  /** `undefined`: the ServiceAccount may have the watch; `"not-yet"`: there is no such kind. Never rejects. */
  async check(account: ServiceAccountName, request: WatchRequest): Promise<WatchAnswer> {
    const named = gvkOf(request)
    const gvk = parseGvk(named)
    if (gvk === undefined) return refusal(400, "BadRequest", `${JSON.stringify(named)} is not GROUP/VERSION.KIND`)
    let kind: Kind
    try {
      kind = await this.#find(gvk)
    } catch (cause) {
      if (cause instanceof NotFoundError) return "not-yet"
      return refusal(503, "ServiceUnavailable", `cannot find out where ${named} is: ${messageOf(cause)}`)
    }
    const { reviewer } = this.#options
    const user = userOfAccount(account)
    const namespace = kind.namespaced ? (request.namespace ?? "") : ""
    const name = nameIn(request.fieldSelector ?? "")
    const answers = await Promise.all(verbs.map((verb) => reviewer.answer(user, verb, kind, namespace, name)))
    for (const [index, verb] of verbs.entries())
      if (answers[index] === false)
        return refusal(403, "Forbidden", forbidden(user.username, verb, kind, namespace, name))
    const unknown = answers.find((answer) => answer !== true)
    return unknown === undefined ? undefined : refusal(503, "ServiceUnavailable", messageOf(unknown))
  }

  async #find(gvk: GroupVersionKind): Promise<Kind> {
    const { finder, clock } = this.#options
    const key = formatGvk(gvk)
    const foundAt = this.#foundAt.get(key)
    if (foundAt !== undefined && clock.monotonicMs() - foundAt >= kindMs) {
      this.#foundAt.delete(key)
      finder.forget(gvk)
    }
    const kind = await finder.find(gvk)
    if (!this.#foundAt.has(key)) this.#foundAt.set(key, clock.monotonicMs())
    return kind
  }
}

const refusal = (code: number, reason: string, message: string): WatchRefusal => ({ code, reason, message })

/** The one object that is selected; empty for any number of them, and for what is no selector: the hub refuses that. */
const nameIn = (fieldSelector: string): string => {
  const requirements = parseFieldSelector(fieldSelector)
  if ("problem" in requirements) return ""
  return requirements.find(({ field, isEqual }) => field === "metadata.name" && isEqual)?.value ?? ""
}

/** The words of the API server. */
const forbidden = (username: string, verb: string, { gvk, plural }: Kind, namespace: string, name: string): string => {
  const object = `${gvk.group === "" ? plural : `${plural}.${gvk.group}`}${name === "" ? "" : ` ${JSON.stringify(name)}`}`
  const where = namespace === "" ? "at the cluster scope" : `in the namespace ${JSON.stringify(namespace)}`
  return (
    `${object} is forbidden: User ${JSON.stringify(username)} cannot ${verb} resource ${JSON.stringify(plural)} ` +
    `in API group ${JSON.stringify(gvk.group)} ${where}`
  )
}
