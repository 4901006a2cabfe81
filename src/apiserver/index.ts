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
export {
  badRequest,
  expiredContinue,
  expiredList,
  expiredWatch,
  type Failure,
  type FailureCause,
  fail,
  forbiddenRequest,
  internalError,
  invalidOptions,
  methodNotAllowed,
  objectFailure,
  objectNotFound,
  pageNotFound,
  readOnly,
  statusText,
  tooLargeVersion,
  tooManyRequests,
  unauthorized,
  unavailable,
  unexplained,
  unknownResource,
} from "./answers/failure.ts"
export * as fieldErrors from "./answers/field-error.ts"
export {
  duplicate,
  type Errors,
  errorText,
  explained,
  type FieldError,
  forbidden,
  immutable,
  invalid,
  notSupported,
  required,
  tooLong,
  tooMany,
  wrongType,
} from "./answers/field-error.ts"
export type { Reply } from "./answers/reply.ts"
export { ApiHandler } from "./api-handler.ts"
export { ApiServer, answerUnknownMethods } from "./api-server.ts"
export {
  type ApiServerOptions,
  type ApiServerParts,
  type RequestHooks,
  type ServerTls,
  tlsOptions,
  type WriteHandler,
} from "./api-server-options.ts"
export type { Backend, WatchFeed } from "./backend.ts"
export { missingIn } from "./discovery/discovery.ts"
export { type Form, metadataOrder, objectFrame } from "./forms/form.ts"
export type { AccessControl, RequestUser } from "./http/access-control.ts"
export { type Exchange, flag } from "./http/exchange.ts"
export { isServedBelow } from "./http/path-check.ts"
export { discoveryScope, type RequestEntry, type RequestFilter, type RequestLog } from "./http/request-log.ts"
export { parseRoute, type ResourceRoute } from "./http/router.ts"
export { type OnTrouble, troubleOf, warnProcess } from "./http/trouble.ts"
export { laterInTurn } from "./http/turn.ts"
export { bookmarkLine, type WatchStream } from "./http/watch-stream.ts"
export { asksForWebSocket, WebSocketRequest } from "./http/web-socket.ts"
export { builtinResources } from "./kinds/builtin/builtin-resources.ts"
export {
  type Change,
  type ChangeRecord,
  type ChangeType,
  keyOf,
  listItem,
  makeChange,
  type Owner,
  objectBytes,
  parseObject,
  restamped,
  typeMembers,
} from "./kinds/change.ts"
export { member } from "./kinds/json-member.ts"
export { compact, type JsonFormat, spaced } from "./kinds/json-spacing.ts"
export type { KubernetesObject, ObjectMetadata, StoredObject } from "./kinds/kubernetes-object.ts"
export {
  type GvkName,
  gvkName,
  type JsonObject,
  KindConflictError,
  type PrinterColumn,
  qualifiedName,
  type Resource,
  ResourceRegistry,
  readOnlyKinds,
  type StoredAs,
  type Subresource,
  UnknownKindError,
  verbsOf,
} from "./kinds/resources.ts"
export {
  type ExpiredAs,
  encodeContinue,
  integerOf,
  type ListRequest,
  parseListRequest,
  type StreamingList,
  type WatchRequest,
} from "./list/list-options.ts"
export type { ListAnswer } from "./list/list-response.ts"
export { pageOf, type Snapshot, snapshotOf } from "./list/snapshot.ts"
export { type DefinedKind, definedKinds, publishedKind } from "./openapi/defined-kinds.ts"
export { builtinDocuments, documentPath, OpenApiDocuments, readBuiltinDocument } from "./openapi/openapi-document.ts"
export {
  type ListType,
  maximumSchemaDepth,
  type StructuralSchema,
  type ValidationRule,
} from "./openapi/structural-schema.ts"
export { scaleOf, scalePath, scaleResource } from "./scale-form.ts"
export { printerOf, withoutStatusCells } from "./table/printers.ts"
