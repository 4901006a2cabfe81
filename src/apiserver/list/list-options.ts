/**
 * The query of a list or a watch, read and validated as Kubernetes 1.34.4 does.
 */
import { parseLabelSelector, parseShardSelector } from "../../kube/offline.ts"
import { badRequest, type Failure, invalidOptions, unreadableVersion } from "../answers/failure.ts"
import { type FieldError, forbidden, notSupported } from "../answers/field-error.ts"
import { flag } from "../http/exchange.ts"
import type { Resource } from "../kinds/resources.ts"
import { fieldSelectorOf, type Selection } from "../selection/selection.ts"

/**
 * How this server treats `sendInitialEvents`: `supported`; `rejected` with a 422 that names the parameter (the feature
 * gate is off); `unknown`, ignored together with its resourceVersionMatch (a server from before the feature).
 */
export type StreamingList = "supported" | "rejected" | "unknown"

/**
 * How a watch from an expired version is refused: in a 200 with an `ERROR` event, as the real server does, or with a
 * 410.
 */
export type ExpiredAs = "stream" | "http"

/** The state that a list requests. */
type ListState =
  | { readonly type: "latest" }
  /** `resourceVersion=0`: any available state, and `limit` is ignored. */
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
type WatchStart =
  /**
   * Synthetic ADDED events for present objects, then changes. `endBookmark`: a bookmark marks the end of the former.
   */
  | { readonly type: "state"; readonly notOlderThan: bigint; readonly endBookmark: boolean }
  /** Changes after a version; `undefined` means from now on. */
  | { readonly type: "after"; readonly version: bigint | undefined }

export interface WatchRequest {
  readonly start: WatchStart
  readonly allowBookmarks: boolean
  /** Absent: the server never ends the stream by itself. */
  readonly timeoutSeconds?: number
  readonly selection: Selection
}

/** The 500 for an unreadable version in a GET of one object. A readable version makes no difference here. */
export const refusedVersion = (query: URLSearchParams): Failure | undefined => {
  const version = parseVersion("watch", query.get("resourceVersion") ?? "")
  return typeof version === "object" ? version : undefined
}

export const parseListRequest = (
  query: URLSearchParams,
  namespace: string | undefined,
  resource: Resource,
  filtersByShard = false,
): ListRequest | Failure => {
  const timeoutSeconds = integerOf(query, "timeoutSeconds")
  if (typeof timeoutSeconds === "object") return timeoutSeconds
  const limit = integerOf(query, "limit")
  if (typeof limit === "object") return limit
  const version = query.get("resourceVersion") ?? ""
  const match = query.get("resourceVersionMatch") ?? ""
  const token = query.get("continue") ?? ""
  const errors = listErrors(query, version, match, token)
  if (errors.length > 0) return invalidOptions("ListOptions", errors)
  const selection = selectionOf(query, namespace, resource, filtersByShard)
  if ("type" in selection) return selection
  const state = listState(version, match, token, limit ?? 0)
  if (state.type === "failure") return state
  return { state, limit: state.type === "any" ? 0 : Math.max(0, limit ?? 0), selection }
}

export const parseWatchRequest = (
  query: URLSearchParams,
  namespace: string | undefined,
  resource: Resource,
  {
    streamingList,
    filtersByShard = false,
  }: { readonly streamingList: StreamingList; readonly filtersByShard?: boolean | undefined },
): WatchRequest | Failure => {
  const timeoutSeconds = integerOf(query, "timeoutSeconds")
  if (typeof timeoutSeconds === "object") return timeoutSeconds
  const known = streamingList !== "unknown"
  const initial = known ? flag(query, "sendInitialEvents") : undefined
  const match = known ? (query.get("resourceVersionMatch") ?? "") : ""
  const errors = watchErrors(initial, match, streamingList, query.get("continue") ?? "")
  if (errors.length > 0) return invalidOptions("ListOptions", errors)
  const selection = selectionOf(query, namespace, resource, filtersByShard)
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
    // The real server ends a watch at once whose time is negative.
    ...(timeoutSeconds === undefined ? {} : { timeoutSeconds: Math.max(0, timeoutSeconds) }),
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
  // A limit with a version and no match means exactly that version: the rule that predates resourceVersionMatch.
  const exact = match === "Exact" || (match === "" && limit > 0)
  return { type: exact ? "exact" : "notOlderThan", version: parsed }
}

const listErrors = (query: URLSearchParams, version: string, match: string, token: string): FieldError[] => {
  const errors: FieldError[] = []
  if (match !== "") {
    if (version === "") errors.push(forbidden("resourceVersionMatch", "forbidden unless resourceVersion is provided"))
    if (token !== "") errors.push(matchWithToken)
    if (match !== "Exact" && match !== "NotOlderThan")
      errors.push(notSupported("resourceVersionMatch", match, ["Exact", "NotOlderThan", ""]))
    if (match === "Exact" && version === "0")
      errors.push(forbidden("resourceVersionMatch", '"Exact" is forbidden for resourceVersion "0"'))
  }
  if (query.has("sendInitialEvents")) errors.push(forbidden("sendInitialEvents", "forbidden for list"))
  return errors
}

const matchWithToken = forbidden("resourceVersionMatch", "forbidden when continue is provided")

const watchErrors = (
  initial: boolean | undefined,
  match: string,
  streamingList: StreamingList,
  token: string,
): FieldError[] => {
  const errors: FieldError[] = []
  if (initial !== undefined && match !== "NotOlderThan")
    errors.push(forbidden("resourceVersionMatch", "sendInitialEvents requires NotOlderThan"))
  if (initial !== undefined && streamingList === "rejected")
    errors.push(forbidden("sendInitialEvents", "forbidden for watch unless the WatchList feature gate is enabled"))
  if (match !== "" && initial === undefined)
    errors.push(forbidden("resourceVersionMatch", "forbidden for watch unless sendInitialEvents is provided"))
  if (match !== "" && match !== "NotOlderThan")
    errors.push(notSupported("resourceVersionMatch", match, ["NotOlderThan"]))
  if (token !== "") errors.push(matchWithToken)
  return errors
}

const selectionOf = (
  query: URLSearchParams,
  namespace: string | undefined,
  resource: Resource,
  filtersByShard: boolean,
): Selection | Failure => {
  const shardText = filtersByShard ? (query.get("shardSelector") ?? "") : ""
  const shard = shardText === "" ? undefined : parseShardSelector(shardText)
  if (shard !== undefined && "problem" in shard) return badRequest(`shardSelector: ${shard.problem}`)
  const labels = parseLabelSelector(query.get("labelSelector") ?? "")
  if ("problem" in labels) return badRequest(`labelSelector: ${labels.problem}`)
  const fields = fieldSelectorOf(query.get("fieldSelector") ?? "", resource)
  if ("problem" in fields) return badRequest(fields.problem)
  const more = shard === undefined ? {} : { shard: { ...shard, text: shardText } }
  return { ...(namespace === undefined ? {} : { namespace }), labels, fields, ...more }
}

/** An integer, or `undefined` if absent; 400 for anything else. */
export const integerOf = (query: URLSearchParams, name: string): number | undefined | Failure => {
  const text = query.get(name)
  if (text === null || text === "") return undefined
  return /^[+-]?\d{1,15}$/.test(text)
    ? Number(text)
    : badRequest(`${name}: ${JSON.stringify(text)} is not a whole number of at most 15 digits`)
}

const largestVersion = 2n ** 64n - 1n

/** 0 for an absent version: the two mean the same everywhere but in a list's limit. */
const parseVersion = (verb: "list" | "watch", text: string): bigint | Failure => {
  if (text === "") return 0n
  const version = /^\d+$/.test(text) ? BigInt(text) : undefined
  return version === undefined || version > largestVersion ? unreadableVersion(verb, text) : version
}

/**
 * The token between two pages of a list, byte for byte that of the real server: base64url of
 * `{"v":"meta.k8s.io/v1","rv":306,"start":"/cm-2\u0000"}`.
 */

interface ContinueToken {
  /** All pages show the state at this revision; -1 requests the rest in its current state (after an expired token). */
  readonly revision: bigint
  /** First key of the next page, relative to the collection or namespace listed. */
  readonly start: string
}

export const encodeContinue = ({ revision, start }: ContinueToken): string =>
  // The number is written by hand: JSON.stringify does not support bigint.
  Buffer.from(`{"v":"meta.k8s.io/v1","rv":${revision},"start":${JSON.stringify(`/${start}`)}}`).toString("base64url")

/**
 * A returned text describes what is wrong with the token. Accepts what Kubernetes 1.34.4 accepts (compared with it).
 */
export const decodeContinue = (text: string): ContinueToken | string => {
  // The server ignores line ends; a single remaining digit makes no byte.
  const digits = text.replace(/[\r\n]/g, "")
  if (!/^[A-Za-z0-9_-]*$/.test(digits) || digits.length % 4 === 1) return "not base64url"
  const token = parsed(Buffer.from(digits, "base64url").toString("utf8"))
  if (typeof token !== "object" || token === null) return "no JSON object inside"
  const { v, rv, start }: { v?: unknown; rv?: unknown; start?: unknown } = token
  if (v !== "meta.k8s.io/v1") return "unknown version"
  if (typeof rv !== "bigint" || rv === 0n) return "no resourceVersion inside"
  if (typeof start !== "string" || start === "") return "no start key inside"
  const key = start.startsWith("/") ? start : `/${start}`
  const leadsOut = key.split("/").some((segment, index) => index > 0 && (segment === "" || /^\.\.?$/.test(segment)))
  return leadsOut && key !== "/" ? "the start key leads out of the collection" : { revision: rv, start: key.slice(1) }
}

/** With `rv` as a bigint: versions exceed what a JSON number holds. */
const parsed = (json: string): unknown => {
  try {
    return JSON.parse(json, (key, value: unknown, { source = "" }: { readonly source?: string } = {}) =>
      key === "rv" && /^-?\d{1,20}$/.test(source) ? BigInt(source) : value,
    )
  } catch {
    // The token did not come from this server.
    return undefined
  }
}
