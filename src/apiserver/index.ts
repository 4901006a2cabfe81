/**
 * The read half of a Kubernetes API server: discovery, OpenAPI, gets, paged lists and watches (bookmarks, initial
 * events, selectors), as JSON, YAML, tables or metadata only, over HTTP/1.1. Everything it serves comes from a {@link
 * Backend}, which may be asynchronous.
 *
 * Guaranteed: statuses, reasons and bodies are those of Kubernetes 1.34 (compared with a real server); objects are sent
 * in the backend's bytes; a watch delivers what its feed sends, in that order; lists and the initial events of a watch
 * are sent no faster than the client reads. It is read-only: a write gets a 405, unless the program around it adds a
 * write handler, as the sandbox does. It imports nothing of that half.
 *
 * Not provided: protobuf, HTTP/2, authentication beyond one bearer token, authorization; the program around it
 * can add an {@link AccessControl}, which sees every request first.
 *
 * ```ts
 * const server = await ApiServer.listen(backend, { port: 8001 }, { readOnlyReason: "this is the past" })
 * // kubectl --server http://127.0.0.1:8001 get pods -A -o wide
 * await server.close()
 * ```
 *
 * {@link ApiHandler} is the same without a port, for programs that have an HTTP server of their own.
 */

export type { Eventually } from "./answers/eventually.ts"
export { type Failure, fail } from "./answers/failure.ts"
export type { Reply } from "./answers/reply.ts"
export { ApiHandler } from "./api-handler.ts"
export { ApiServer } from "./api-server.ts"
export type {
  ApiHandlerOptions,
  ApiServerOptions,
  ApiServerParts,
  ServerTls,
  WriteHandler,
} from "./api-server-options.ts"
export type { Backend, WatchFeed } from "./backend.ts"
export type { AccessControl, RequestUser } from "./http/access-control.ts"
export type { RequestEntry, RequestFilter, RequestLog } from "./http/request-log.ts"
export { bookmarkLine, type WatchStream } from "./http/watch-stream.ts"
export { builtinResources } from "./kinds/builtin/builtin-resources.ts"
export { type DefinedKind, definedKinds, publishedKind } from "./kinds/definition.ts"
export {
  KindConflictError,
  type Resource,
  ResourceRegistry,
  readOnlyKinds,
  UnknownKindError,
} from "./kinds/resources.ts"
export type { ListRequest, ListState, StreamingList, WatchRequest, WatchStart } from "./list/list-options.ts"
export type { ListAnswer } from "./list/list-response.ts"
export { type Page, pageOf, type Snapshot, snapshotOf } from "./list/snapshot.ts"
export { OpenApiDocuments } from "./openapi/openapi-document.ts"
export { hasSelectors, type Selection, selects } from "./selection/selection.ts"
export { type Change, type ChangeRecord, type ChangeType, makeChange } from "./watch/change.ts"
