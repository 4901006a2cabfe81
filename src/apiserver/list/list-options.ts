/**
 * The query of a list or a watch, read and validated as Kubernetes 1.34.4 does: same rules, same order, same messages.
 */

import {
  badRequest,
  type Failure,
  type FailureCause,
  invalidListOptions,
  unreadableVersion,
} from "../answers/failure.ts"
import type { Resource } from "../kinds/resources.ts"
import { parseFieldSelector } from "../selection/field-selector.ts"
import { parseLabelSelector, SelectorError } from "../selection/label-selector.ts"
import type { Selection } from "../selection/selection.ts"
import { type ContinueToken, decodeContinue } from "./continue-token.ts"

/**
 * How this server treats `sendInitialEvents`: `supported`; `rejected` with a 422 that names the parameter (the feature
 * gate is off); `unknown`, ignored together with its resourceVersionMatch (a server from before the feature).
 */
export type StreamingList = "supported" | "rejected" | "unknown"

/** How a watch from a forgotten version is refused: in a 200 with an `ERROR` event, as the real server does, or with a 410. */
export type ExpiredAs = "stream" | "http"

/** Which state a list wants. */
export type ListState =
  | { readonly type: "latest" }
  /** `resourceVersion=0`: whatever is at hand, and `limit` is ignored. */
  | { readonly type: "any" }
  | { readonly type: "notOlderThan"; readonly version: bigint }
  | { readonly type: "exact"; readonly version: bigint }
  | { readonly type: "continue"; readonly token: ContinueToken }

export interface ListRequest {
  readonly state: ListState
  /** 0: everything. */
  readonly limit: number
  readonly selection: Selection
}

/** Where a watch begins. */
export type WatchStart =
  /** Synthetic ADDED events for what exists, then changes. `endBookmark`: mark the border with a bookmark. */
  | { readonly type: "state"; readonly notOlderThan: bigint; readonly endBookmark: boolean }
  /** Changes above a version; `undefined` means from now on. */
  | { readonly type: "after"; readonly version: bigint | undefined }

export interface WatchRequest {
  readonly start: WatchStart
  readonly allowBookmarks: boolean
  /** Absent: the server never ends the stream by itself. */
  readonly timeoutSeconds?: number
  readonly selection: Selection
}

/** Go's reading of a boolean parameter: present means true unless it says false or 0. */
export const flag = (query: URLSearchParams, name: string): boolean | undefined => {
  const value = query.get(name)?.toLowerCase()
  return value === undefined ? undefined : value !== "false" && value !== "0"
}

/** What is wrong with the version that a GET of one object asks for: 500. Which one it is makes no difference here. */
export const refusedVersion = (query: URLSearchParams): Failure | undefined => {
  const version = parseVersion("watch", query.get("resourceVersion") ?? "")
  return typeof version === "object" ? version : undefined
}

export const parseListRequest = (
  query: URLSearchParams,
  namespace: string | undefined,
  resource: Resource,
): ListRequest | Failure => {
  const timeoutSeconds = integerOf(query, "timeoutSeconds")
  if (typeof timeoutSeconds === "object") return timeoutSeconds
  const limit = integerOf(query, "limit")
  if (typeof limit === "object") return limit
  const version = query.get("resourceVersion") ?? ""
  const match = query.get("resourceVersionMatch") ?? ""
  const token = query.get("continue") ?? ""
  const causes = listCauses(query, version, match, token)
  if (causes.length > 0) return invalidListOptions(causes)
  const selection = selectionOf(query, namespace, resource)
  if ("type" in selection) return selection
  const state = listState(version, match, token, limit ?? 0)
  if (state.type === "failure") return state
  return { state, limit: state.type === "any" ? 0 : Math.max(0, limit ?? 0), selection }
}

export const parseWatchRequest = (
  query: URLSearchParams,
  namespace: string | undefined,
  resource: Resource,
  streamingList: StreamingList,
): WatchRequest | Failure => {
  const timeoutSeconds = integerOf(query, "timeoutSeconds")
  if (typeof timeoutSeconds === "object") return timeoutSeconds
  const known = streamingList !== "unknown"
  const initial = known ? flag(query, "sendInitialEvents") : undefined
  const match = known ? (query.get("resourceVersionMatch") ?? "") : ""
  const causes = watchCauses(initial, match, streamingList, query.get("continue") ?? "")
  if (causes.length > 0) return invalidListOptions(causes)
  const selection = selectionOf(query, namespace, resource)
  if ("type" in selection) return selection
  const text = query.get("resourceVersion") ?? ""
  const version = parseVersion("watch", text)
  if (typeof version === "object") return version
  const allowBookmarks = flag(query, "allowWatchBookmarks") ?? false
  return {
    start:
      (initial ?? version === 0n)
        ? { type: "state", notOlderThan: version, endBookmark: allowBookmarks && streamingList === "supported" }
        : { type: "after", version: version === 0n ? undefined : version },
    allowBookmarks,
    ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }),
    selection,
  }
}

const listState = (version: string, match: string, token: string, limit: number): ListState | Failure => {
  if (token !== "") {
    const decoded = decodeContinue(token)
    if (typeof decoded === "string") return badRequest(`invalid continue token: continue key is not valid: ${decoded}`)
    if (version !== "" && version !== "0") {
      return badRequest("specifying resource version is not allowed when using continue")
    }
    return { type: "continue", token: decoded }
  }
  if (version === "") return { type: "latest" }
  const parsed = parseVersion("list", version)
  if (typeof parsed === "object") return parsed
  if (parsed === 0n) return { type: "any" }
  // A limit with a version and no match means exactly that version: the rule from before resourceVersionMatch existed.
  const exact = match === "Exact" || (match === "" && limit > 0)
  return { type: exact ? "exact" : "notOlderThan", version: parsed }
}

type Cause = Required<FailureCause>

const forbidden = (field: string, message: string): Cause => ({
  reason: "FieldValueForbidden",
  message: `Forbidden: ${message}`,
  field,
})

const notSupported = (value: string, supported: string): Cause => ({
  reason: "FieldValueNotSupported",
  message: `Unsupported value: ${JSON.stringify(value)}: supported values: ${supported}`,
  field: "resourceVersionMatch",
})

const listCauses = (query: URLSearchParams, version: string, match: string, token: string): ReadonlyArray<Cause> => {
  const causes: Cause[] = []
  if (match !== "") {
    if (version === "") {
      causes.push(
        forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided"),
      )
    }
    if (token !== "") {
      causes.push(forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"))
    }
    if (match !== "Exact" && match !== "NotOlderThan") {
      causes.push(notSupported(match, '"Exact", "NotOlderThan", ""'))
    }
    if (match === "Exact" && version === "0") {
      causes.push(
        forbidden("resourceVersionMatch", 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'),
      )
    }
  }
  if (query.has("sendInitialEvents")) {
    causes.push(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
  }
  return causes
}

const watchCauses = (
  initial: boolean | undefined,
  match: string,
  streamingList: StreamingList,
  token: string,
): ReadonlyArray<Cause> => {
  const causes: Cause[] = []
  if (initial !== undefined) {
    if (match !== "NotOlderThan") {
      const message = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
      causes.push(forbidden("resourceVersionMatch", message))
    }
    if (streamingList === "rejected") {
      const message = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
      causes.push(forbidden("sendInitialEvents", message))
    }
  }
  if (match !== "") {
    if (initial === undefined) {
      const message = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
      causes.push(forbidden("resourceVersionMatch", message))
    }
    if (match !== "NotOlderThan") causes.push(notSupported(match, '"NotOlderThan"'))
  }
  if (token !== "") {
    causes.push(forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"))
  }
  return causes
}

const selectionOf = (
  query: URLSearchParams,
  namespace: string | undefined,
  resource: Resource,
): Selection | Failure => {
  try {
    return {
      ...(namespace === undefined ? {} : { namespace }),
      labels: parseLabelSelector(query.get("labelSelector") ?? ""),
      fields: parseFieldSelector(query.get("fieldSelector") ?? "", resource),
    }
  } catch (error) {
    if (error instanceof SelectorError) return badRequest(error.problem)
    throw error
  }
}

const integerOf = (query: URLSearchParams, name: string): number | undefined | Failure => {
  const text = query.get(name)
  if (text === null || text === "") return undefined
  if (!/^[+-]?\d{1,15}$/.test(text)) {
    const problem = /^[+-]?\d+$/.test(text) ? "value out of range" : "invalid syntax"
    return badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: ${problem}`)
  }
  return Number(text)
}

const largestVersion = 2n ** 64n - 1n

/** 0 for an absent version: the two mean the same everywhere but in a list's limit. */
const parseVersion = (verb: "list" | "watch", text: string): bigint | Failure => {
  if (text === "") return 0n
  if (!/^\d+$/.test(text)) return unreadableVersion(verb, text, "invalid syntax")
  const version = BigInt(text)
  return version > largestVersion ? unreadableVersion(verb, text, "value out of range") : version
}
