/** One write and its response, whether it came over HTTP or from inside the process. */

import type { IncomingMessage } from "node:http"
import {
  type Change,
  type Eventually,
  type Exchange,
  type Failure,
  type Form,
  laterInTurn,
  methodNotAllowed,
  type Reply,
  type RequestUser,
  type Resource,
  type ResourceRoute,
  verbsOf,
} from "../../../apiserver/index.ts"
import type { Subresource } from "../../rules/kind-rules.ts"
import { bodyLimit } from "./request-body.ts"
import { bodyTooLarge } from "./write-failures.ts"

export type WriteVerb = "create" | "update" | "patch" | "delete" | "deletecollection"

export interface WriteRequest {
  readonly verb: WriteVerb
  readonly resource: Resource
  /** The empty string for cluster-scoped kinds. */
  readonly namespace: string
  /** The empty string for a collection. */
  readonly name: string
  /** The empty string for the object itself. */
  readonly subresource: string
  readonly query: URLSearchParams
  /** Media type in lower case without parameters; empty if the client sent none. */
  readonly contentType: string
  /** The field manager of a client that names none itself. */
  readonly userAgent: string
  readonly body: Buffer
  /** Who sends it; absent without authorization, and for requests from inside the process, which may do everything. */
  readonly user?: RequestUser
}

/** Which part of an object a write is about that is neither an action nor a creation. */
export const writtenPart = ({ subresource }: WriteRequest): Subresource =>
  subresource === "status" || subresource === "scale" ? subresource : ""

/** The response to a successful write. */
export interface Written extends Reply {
  /** The state that the body shows, if it shows one: other forms of the response are made from it. */
  readonly change?: Change
}

export type WriteOutcome = Written | Failure

// Writes over HTTP: maps method and path to a write, reads its body and sends its response.

/**
 * Reads the body and answers the exchange with the result of `write`; the caller must send a returned failure at once.
 * The body is read even if the write will be refused: up to 3 MB; a larger one is refused.
 */
export const receiveWrite = (
  exchange: Exchange,
  route: ResourceRoute,
  resource: Resource,
  form: Form | undefined,
  write: (request: WriteRequest) => Eventually<WriteOutcome>,
): Failure | undefined => {
  const verb = writeVerbOf(exchange.request.method ?? "", route, resource)
  if (verb === undefined) return methodNotAllowed
  const { request, query } = exchange
  const answer = (body: Buffer | undefined): void => {
    if (body === undefined) return exchange.fail(bodyTooLarge)
    const outcome = write({
      verb,
      resource,
      namespace: route.namespace ?? "",
      name: route.name ?? "",
      subresource: route.subresource ?? "",
      query,
      contentType: mediaType(request.headers["content-type"]),
      userAgent: request.headers["user-agent"] ?? "",
      body,
      ...(exchange.user !== undefined && { user: exchange.user }),
    })
    exchange.whenReady(outcome, (ready) => {
      if (ready.type === "failure") exchange.fail(ready)
      else exchange.written(formed(ready, form))
    })
  }
  // An exception there would not be caught.
  readBody(request, (body) => laterInTurn(() => exchange.attempt(() => answer(body))))
  return undefined
}

const formed = (written: Written, form: Form | undefined): Written =>
  form === undefined || written.change === undefined ? written : { ...written, json: form.object(written.change) }

const verbs: Readonly<Record<string, WriteVerb>> = {
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
}

/** `undefined` if the method makes no sense. Subresources check their methods themselves. */
export const writeVerbOf = (method: string, route: ResourceRoute, resource: Resource): WriteVerb | undefined => {
  const verb = verbs[method]
  const { name, subresource, namespace } = route
  if (verb === undefined) return undefined
  if (subresource !== undefined) return verb
  const ofCollection = name === undefined
  if (ofCollection && resource.namespaced && namespace === undefined) return undefined
  if (ofCollection !== (verb === "create") && !(ofCollection && verb === "delete")) return undefined
  const actual = ofCollection && verb === "delete" ? "deletecollection" : verb
  return verbsOf(resource).includes(actual) ? actual : undefined
}

export const mediaType = (header: string | undefined): string => {
  if (header === undefined) return ""
  const semicolon = header.indexOf(";")
  return (semicolon < 0 ? header : header.slice(0, semicolon)).trim().toLowerCase()
}

/** `undefined` for a body over the limit; never calls back if the client disconnects. */
const readBody = (request: IncomingMessage, done: (body: Buffer | undefined) => void): void => {
  if (Number(request.headers["content-length"] ?? 0) > bodyLimit) return done(undefined)
  const chunks: Buffer[] = []
  let bytes = 0
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length
    // Beyond the limit the rest is read but not kept; otherwise the client would not read the response.
    if (bytes <= bodyLimit) chunks.push(chunk)
  })
  request.on("end", () => {
    const [first] = chunks
    if (bytes > bodyLimit) done(undefined)
    else done(chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks))
  })
}
