/**
 * Request scripts: ordered steps that run against both servers.
 *
 * Paths, queries, headers and bodies may contain `<name>`: the value of a variable. `ns` is the script's own namespace
 * (its cluster-scoped names and API groups begin with it), `webhooks` and `authority` the address of a webhook server and its
 * certificate, in base64; others are captured from responses.
 */

import type { Json } from "../exact-json.ts"

/** Everything captured so far, including whole responses. */
export type Captured = ReadonlyMap<string, Json>

/** A body sent as it is. */
export interface RawBody {
  readonly raw: string | Buffer
}

export interface RequestStep {
  readonly type: "request"
  /** Unique within its script: differences are named by it. */
  readonly name: string
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  /** JSON, bytes, or a function of what was captured. */
  readonly body?: Json | RawBody | ((captured: Captured) => Json)
  /** Variable → JSON pointer into the response; the empty pointer is the whole body. */
  readonly capture: Readonly<Record<string, string>>
  /** Repeats the request, at most 90 s in a script, until the response is as expected; only the last one is compared. */
  readonly until?: (status: number, body: Json) => boolean
}

export interface WatchStep {
  readonly type: "watch"
  readonly name: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  /** Events expected until the script ends. Each server gets 10 s for them, and time for an unexpected one. */
  readonly events: number
}

export type Step = RequestStep | WatchStep

export interface Script {
  /** A DNS label: the namespace's name is made from it. */
  readonly name: string
  /** The area by which the counts of a report are grouped. */
  readonly area: string
  /**
   * Controllers write to the objects of this script at any time: their statuses and versions are left out, on
   * both sides, and so is what the controller manager owns.
   */
  readonly controlled?: boolean
  readonly steps: readonly Step[]
  /** Paths outside of the script's namespace that are deleted at its end, whether they exist or not. */
  readonly leftovers?: readonly string[]
}

type Given = Partial<Pick<RequestStep, "query" | "headers" | "body" | "capture" | "until">>

const request = (method: string, name: string, path: string, given: Given): RequestStep => {
  const { query = {}, headers = {}, capture = {}, ...rest } = given
  const contentType = given.body === undefined ? {} : { "content-type": "application/json" }
  return { type: "request", name, method, path, query, headers: { ...contentType, ...headers }, capture, ...rest }
}

export const get = (name: string, path: string, given: Given = {}): RequestStep => request("GET", name, path, given)

export const post = (name: string, path: string, body: NonNullable<Given["body"]>, given: Given = {}): RequestStep =>
  request("POST", name, path, { body, ...given })

export const put = (name: string, path: string, body: NonNullable<Given["body"]>, given: Given = {}): RequestStep =>
  request("PUT", name, path, { body, ...given })

export const remove = (name: string, path: string, given: Given = {}): RequestStep =>
  request("DELETE", name, path, given)

/** A request with any method. */
export const ask = (method: string, name: string, path: string, given: Given = {}): RequestStep =>
  request(method, name, path, given)

const patchOf =
  (contentType: string) =>
  (name: string, path: string, body: NonNullable<Given["body"]>, given: Given = {}): RequestStep =>
    request("PATCH", name, path, { body, ...given, headers: { "content-type": contentType, ...given.headers } })

export const jsonPatch = patchOf("application/json-patch+json")
export const mergePatch = patchOf("application/merge-patch+json")
export const strategicPatch = patchOf("application/strategic-merge-patch+json")

/** Server-side apply. */
export const apply = (
  name: string,
  path: string,
  manager: string,
  body: NonNullable<Given["body"]>,
  given: Given = {},
): RequestStep =>
  patchOf("application/apply-patch+yaml")(name, path, body, {
    ...given,
    query: { fieldManager: manager, ...given.query },
  })

/** Runs in the background from here to the end of the script. */
export const watch = (
  name: string,
  path: string,
  events: number,
  query: Readonly<Record<string, string>> = {},
  headers: Readonly<Record<string, string>> = {},
): WatchStep => ({ type: "watch", name, path, events, query: { watch: "1", ...query }, headers })

/** Waits until an object exists. */
export const isThere = (status: number): boolean => status === 200

/** Waits until an object is gone. */
export const isGone = (status: number): boolean => status === 404

/** A collection of the script's own namespace, or an object in it. `groupVersion`: `v1` or `apps/v1`. */
export const inNamespace = (groupVersion: string, plural: string, ...rest: readonly string[]): string =>
  [root(groupVersion), "namespaces/<ns>", plural, ...rest].join("/")

/** A cluster-scoped collection, or an object in it. */
export const inCluster = (groupVersion: string, plural: string, ...rest: readonly string[]): string =>
  [root(groupVersion), plural, ...rest].join("/")

const root = (groupVersion: string): string =>
  groupVersion.includes("/") ? `/apis/${groupVersion}` : `/api/${groupVersion}`
