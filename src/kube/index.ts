/**
 * Talking to an API server: credentials, HTTP, discovery, a typed client, the watch protocol, redaction and the scanner of raw JSON.
 *
 * Guarantee: a watch loses nothing that the server still has, and reports what it lost; nothing here starts an actor or writes to disk. Errors are closed
 * unions by `_tag`; times are ms where a name does not say otherwise.
 */

export { type Attributes, DecisionCache, type ReviewedUser, ReviewFailed, Reviews } from "./access/reviews.ts"
export { ApiClient, type DeleteOptions, type ListOptions, type PatchType } from "./client/api-client.ts"
export {
  ApiConnection,
  backOff,
  bodyOf,
  type Call,
  type CallOptions,
  type ConnectionOptions,
  isSafeToRepeat,
  type RetryPolicy,
} from "./client/api-connection.ts"
export {
  AlreadyExistsError,
  type ApiError,
  ApiRefusalError,
  ApiUnreachableError,
  ConflictError,
  ExpiredError,
  ForbiddenError,
  InvalidError,
  isEndedNamespace,
  isTerminatingNamespace,
  NotFoundError,
  TooManyRequestsError,
  UnauthorizedError,
  unlessNotFound,
} from "./client/api-errors.ts"
export { type ApiServerRoute, routeTo, UnusableEndpoint } from "./client/export-api-server.ts"
export { kinds } from "./client/kinds.ts"
export type {
  ApiObject,
  Condition,
  Container,
  ContainerState,
  ContainerStatus,
  ControllerRevision,
  Metadata,
  Node,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  ObjectBase,
  OwnerReference,
  Pod,
  PodSpec,
  PodStatus,
  PodTemplate,
  SelectorObject,
  StringMap,
  Taint,
  Toleration,
} from "./client/objects.ts"
export {
  adoptionPatch,
  claimOf,
  controllerOf,
  controllerReference,
  isControlledBy,
  releasePatch,
} from "./client/owner-references.ts"
export { ResourceFinder } from "./client/resource-finder.ts"
export { type ObjectWatch, type WatchOptions, watchObjects } from "./client/watch-objects.ts"
export { CredentialRefresh } from "./credentials/credential-refresh.ts"
export { loadCredentials } from "./credentials/credentials.ts"
export { type CredentialsError, isCredentialsError } from "./credentials/errors.ts"
export { impersonating } from "./credentials/impersonation.ts"
export { type Credentials, describeExpired } from "./credentials/refreshed-credentials.ts"
export { type CronSchedule, parseSchedule } from "./cron-schedule.ts"
export {
  aggregatedApis,
  type DiscoveredKind,
  type DiscoveryCache,
  discoverKinds,
  isAggregated,
  watchableKinds,
} from "./discovery/discovered-kinds.ts"
export { type ApiResource, type Discovery, discover } from "./discovery/discovery.ts"
export { parseDuration } from "./duration.ts"
export {
  type ElectionSettings,
  electionIdentity,
  electionTimes,
  type LeaderElectionOptions,
  LeaderElector,
  microTime,
} from "./election/leader-election.ts"
export type { ApiEndpoint, EndpointSource } from "./endpoint.ts"
export { type OpenSocket, speaksTls } from "./http/connect.ts"
export {
  type ConnectionCause,
  causeIn,
  causeOfCode,
  codeOfError,
  describeCause,
  describeConnectionError,
} from "./http/connection-causes.ts"
export { HttpClient } from "./http/http-client.ts"
export {
  type CollectedResponse,
  describeFailure,
  type RequestFailure,
  requestOnce,
  sendOnce,
} from "./http/request-once.ts"
export {
  connectionCodes,
  type HttpRequest,
  type HttpStream,
  type ReadTransport,
  type ResponseHandler,
  type Transport,
} from "./http/transport.ts"
export { pointerFault, unescapedToken } from "./json-pointer.ts"
export { collectionPath, groupVersionPath, type Kind, objectPath } from "./kinds/gvk.ts"
export { findKind, type NamedKind, namesWithKinds } from "./kinds/kind-names.ts"
export * from "./offline.ts"
export { aborted, pause } from "./pause.ts"
export { ObjectRedactor } from "./redaction/object-redactor.ts"
export {
  defaultRedaction,
  defaultRules,
  isSecretKind,
  type RedactionRules,
  type RedactionSettings,
  redactionOf,
} from "./redaction/redaction-rules.ts"
export { ValueHash } from "./redaction/value-hash.ts"
export { JsonBytes } from "./scanner/json/json-bytes.ts"
export { LineBudget, type SpanListener } from "./scanner/line-splitter.ts"
export { ListItem, ListScanner, ListSyntaxError } from "./scanner/list-scanner.ts"
export { decodeString, type Member, readMembers } from "./scanner/object/canonical-json.ts"
export {
  compileDetectRules,
  type Detect,
  type DetectRules,
  defaultDetect,
  defaultIgnore,
} from "./scanner/object/detect-rules.ts"
export { ObjectScanner } from "./scanner/object/object-scanner.ts"
export type { ScannedObject } from "./scanner/object/scanned-object.ts"
export { scanObjectSlowly, UnreadableError } from "./scanner/slow-path.ts"
export { type ApiStatus, readStatus, statusOfResponse } from "./status.ts"
export { clusterUid, HttpEnquiries } from "./watch/enquiries.ts"
export { type LateStretch, liveWithinMicros, ObservedObject } from "./watch/liveness/observed-object.ts"
export { VersionClock } from "./watch/liveness/version-clock.ts"
export { type Writes, writesOfEarlierLife } from "./watch/liveness/written-time.ts"
export { mergedHints, permissionHint } from "./watch/protocol/permission-hint.ts"
export { defaultWatchPolicy, type WatchPolicy } from "./watch/protocol/policy.ts"
export type { KindState, ListReason } from "./watch/protocol/protocol.ts"
export { WatchSession } from "./watch/session.ts"
export type { ListManner, SessionListener, SessionOptions, WatchSink } from "./watch/session-options.ts"
export { pagePath, type Selection, wholeListPath } from "./watch/streams/request.ts"
