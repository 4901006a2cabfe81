/**
 * Lists all objects of one kind once, in pages; each page is processed and released before the next is requested, so memory is bounded by
 * one page.
 *
 * A continue token that expires half-way (410) leads to one answer with everything; objects that were handed on before are not
 * handed on again. Refusals for a moment (429, 503 and the like) are asked again, as often as {@link attempts} says.
 *
 * The requests are those of ApiClient; the pages are not parsed as it parses them, because the trace has the server's own bytes,
 * with the kind and apiVersion that lists omit.
 */
import type { ApiResource } from "../../kube/discovery/discovery.ts"
import type { HttpClient } from "../../kube/http/http-client.ts"
import { type CollectedResponse, describeFailure, requestOnce } from "../../kube/http/request-once.ts"
import { collectionPath } from "../../kube/kind.ts"
import type { SpanListener } from "../../kube/scanner/line-splitter.ts"
import { ListItem, ListScanner, ListSyntaxError } from "../../kube/scanner/list-scanner.ts"

import { type ApiStatus, statusOfResponse } from "../../kube/status.ts"
import { pagePath, type Selection, wholeListPath } from "../../kube/watch/streams/request.ts"

/** What to list of a kind: one namespace, or all if none is given. */
interface ListOrder {
  readonly resource: ApiResource
  readonly namespace: string | undefined
  readonly labelSelector: string | undefined
  readonly fieldSelector: string | undefined
}

/** How a list ended. */
type ListEnd =
  | { readonly tag: "complete" }
  | { readonly tag: "refused"; readonly status: ApiStatus }
  | { readonly tag: "unreachable"; readonly detail: string }

/** Outside effects that lists need. */
export interface ListSurroundings {
  readonly client: Pick<HttpClient, "get">
  readonly signal: AbortSignal
  /** Resolves after so many ms. */
  readonly sleep: (ms: number) => Promise<void>
}

/** Page size of Kubernetes' own clients. */
const pageSize = 500
/** A page of the largest objects that etcd accepts would have 750 MB. */
const longestPage = 1024 * 1024 * 1024
const pageDeadlineMs = 60_000
const attempts = 4
const pauseMs = 1000

/** Calls `item` with the bytes of each object, which are valid only during the call. Rejects only with what `item` throws. */
export const listOnce = async (
  order: ListOrder,
  surroundings: ListSurroundings,
  item: (object: Buffer) => void,
): Promise<ListEnd> => {
  const { resource, namespace, labelSelector, fieldSelector } = order
  const selection: Selection = { path: collectionPath(resource, namespace), labelSelector, fieldSelector }
  let path = pagePath(selection, pageSize, undefined, undefined)
  let isWhole = false
  const completed = new ListItem(resource.gvk)
  while (true) {
    const answer = await ask(path, surroundings)
    if (!("body" in answer)) return answer
    if (answer.status === 410 && !isWhole) {
      isWhole = true
      path = wholeListPath(selection, undefined)
      continue
    }
    if (answer.status !== 200)
      return { tag: "refused", status: statusOfResponse(answer.status, answer.headers, answer.body) }
    const page = takeApart(answer.body, (bytes, start, end) => {
      completed.completeUnscanned(bytes, start, end)
      item(completed.bytes.subarray(completed.start, completed.end))
    })
    if (page.tag !== "page") return page
    if (page.next === undefined) return { tag: "complete" }
    path = pagePath(selection, pageSize, undefined, page.next)
  }
}

const takeApart = (
  body: Buffer,
  item: SpanListener,
): { readonly tag: "page"; readonly next: string | undefined } | ListEnd => {
  const scanner = new ListScanner(item)
  try {
    scanner.push(body, 0, body.length)
  } catch (cause) {
    if (!(cause instanceof ListSyntaxError)) throw cause
    return { tag: "unreachable", detail: cause.message }
  }
  if (!scanner.isComplete) return { tag: "unreachable", detail: "the list ends before its closing brace" }
  const { continueToken } = scanner.head
  return { tag: "page", next: continueToken === "" ? undefined : continueToken }
}

const ask = async (
  path: string,
  { client, signal, sleep }: ListSurroundings,
): Promise<CollectedResponse | (ListEnd & { tag: "unreachable" })> => {
  for (let attempt = 1; ; attempt++) {
    const answer = await requestOnce(client, path, {
      maximumBytes: longestPage,
      deadlineMs: pageDeadlineMs,
      signal,
    })
    const isTransient = answer.tag === "response" && (answer.status === 429 || answer.status >= 500)
    if (isTransient && attempt < attempts && !signal.aborted) {
      const status = statusOfResponse(answer.status, answer.headers, answer.body)
      await sleep((status.retryAfterSeconds ?? 0) * 1000 || pauseMs * attempt)
    } else return answer.tag === "response" ? answer : { tag: "unreachable", detail: describeFailure(answer) }
  }
}
