/**
 * What is inside the frames between actors: observations, stored state, messages about owners.
 *
 * Guarantee: bytes that do not hold what they claim are an error, never a wrong value: of observations a `MalformedFrameError`.
 */

export { DiscoveredKind } from "./discovered-kind.ts"
export { FrameEvent } from "./frame-event.ts"
export { Message, readerOf } from "./message.ts"
export {
  isSameProgress,
  type NamespaceListReason,
  type NamespaceProgress,
  namespaceProgressBytes,
  namespaceProgressRoom,
} from "./namespace-progress.ts"
export { MalformedFrameError, type SplitFrame, splitObservations } from "./observation-fields.ts"
export {
  ACTION_NAMES,
  type ActionCode,
  APPLIED,
  DELETED,
  type Gap,
  type LateRange,
  type NewObject,
  type PodIdentity,
  type PodLife,
  VANISHED,
} from "./observation-wire.ts"
export { decodeColumns, joinVersion, type Observations } from "./observations.ts"
export { type NamespacesNews, ObservationsBuilder } from "./observations-builder.ts"
export {
  decodeOwnerAnswers,
  decodeOwnerQuestions,
  encodeOwnerAnswers,
  encodeOwnerQuestions,
  type OwnerAnswer,
  type OwnerQuestion,
  questionKey,
} from "./owner-messages.ts"
export type { LivesResumePoint, StoredPod, StoredPods } from "./stored-pods.ts"
export { decodeStoredState, encodeStoredState, type KindResumePoint, type StoredObject } from "./stored-state.ts"
