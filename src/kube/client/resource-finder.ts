/**
 * From the names of kinds to where the server has them, remembered: for whoever works with kinds that are only known at run
 * time.
 *
 * Guaranteed: a kind is asked for once, however many ask at the same time; only what was found is remembered, so a kind that is
 * installed later is found then. A kind that was removed or moved is forgotten by {@link ResourceFinder.forget}, which whoever
 * gets a 404 about no object in particular should call before another look.
 */

import { type ApiResource, readResourceList } from "../discovery.ts"
import { formatGvk, type GroupVersionKind } from "../gvk.ts"
import { groupVersionPath } from "../kind.ts"
import type { ApiConnection } from "./api-connection.ts"
import { ApiUnreachableError, refusalOf } from "./api-errors.ts"

export class ResourceFinder {
  readonly #connection: ApiConnection
  readonly #found = new Map<string, Promise<ApiResource>>()

  constructor(connection: ApiConnection) {
    this.#connection = connection
  }

  /** Rejects with {@link NotFoundError} if the server has no such kind, otherwise with what kept it from answering. */
  find(gvk: GroupVersionKind): Promise<ApiResource> {
    const key = formatGvk(gvk)
    const known = this.#found.get(key)
    if (known !== undefined) return known
    const finding = this.#ask(gvk)
    this.#found.set(key, finding)
    finding.catch(() => {
      if (this.#found.get(key) === finding) this.#found.delete(key)
    })
    return finding
  }

  /** The next look asks the server. */
  forget(gvk: GroupVersionKind): void {
    this.#found.delete(formatGvk(gvk))
  }

  async #ask(gvk: GroupVersionKind): Promise<ApiResource> {
    const question = { verb: "get", kind: formatGvk(gvk), namespace: "", name: "" }
    // A group version that does not exist is answered with 404, and so rejects with NotFoundError as well.
    const { body } = await this.#connection.call({ question, method: "GET", path: groupVersionPath(gvk) })
    const answer = readResourceList(body, gvk)
    if (answer.tag === "found") return answer.resource
    if (answer.tag === "absent") {
      const status = { code: 404, reason: "NotFound", message: answer.detail, causes: [], retryAfterSeconds: undefined }
      throw refusalOf(question, status)
    }
    const detail = answer.tag === "failed" ? answer.status.message : answer.detail
    throw new ApiUnreachableError({ ...question, failure: "unreadable", detail })
  }
}
