/**
 * Finds and remembers the resource that serves a kind. Concurrent look-ups share one request; only successful ones
 * are remembered. After a 404 that is not about a particular object, call {@link ResourceFinder.forget}.
 */

import { type ApiResource, readResourceList } from "../discovery/discovery.ts"
import { formatGvk, type GroupVersionKind, groupVersionPath } from "../kinds/gvk.ts"
import { plainStatus } from "../status.ts"
import type { ApiConnection, CallOptions } from "./api-connection.ts"
import { ApiUnreachableError, refusalOf } from "./api-errors.ts"

export class ResourceFinder {
  readonly #connection: ApiConnection
  readonly #options: CallOptions
  readonly #found = new Map<string, Promise<ApiResource>>()

  /** `options`: of every request. */
  constructor(connection: ApiConnection, options: CallOptions = {}) {
    this.#connection = connection
    this.#options = options
  }

  /**
   * Rejects with {@link NotFoundError} if the server has no such kind, otherwise with the error of the request. A cause of the former with the reason
   * `SimilarKind` names the kind that was probably meant.
   */
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

  /** The next look-up asks the server again. */
  forget(gvk: GroupVersionKind): void {
    this.#found.delete(formatGvk(gvk))
  }

  async #ask(gvk: GroupVersionKind): Promise<ApiResource> {
    const question = { verb: "get", kind: formatGvk(gvk), namespace: "", name: "" }
    // For a group version that does not exist the server returns 404, so this rejects with NotFoundError as well.
    const call = { question, method: "GET", path: groupVersionPath(gvk) } as const
    const { body } = await this.#connection.call(call, this.#options)
    const answer = readResourceList(body, gvk)
    if (answer.tag === "found") return answer.resource
    if (answer.tag === "absent") {
      const causes = answer.similar === undefined ? [] : [{ reason: "SimilarKind", message: answer.similar }]
      throw refusalOf(question, { ...plainStatus(404, "NotFound", answer.detail), causes })
    }
    const detail = answer.tag === "failed" ? answer.status.message : answer.detail
    throw new ApiUnreachableError({ ...question, failure: "unreadable", detail })
  }
}
