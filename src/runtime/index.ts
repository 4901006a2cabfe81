/**
 * Actors on worker threads: their mailboxes, calls, streams and supervision.
 *
 * Guarantee: a frame that was accepted is taken exactly once and in order, also when its receiver is started again; a mailbox is bounded in
 * bytes, and all that a sender ever sees of it is that it is full; what crashes is started again with back-off, or ends its owner with a reason. It knows nothing of
 * Kubernetes and never reads a payload.
 */

export type { ActorBody, ActorContext, ActorDefinition, MemoryLimits } from "./actor.ts"
export type { ActorMetrics } from "./actor-host.ts"
export { type ActorStatus, ActorSystem, type ActorSystemOptions, type LinkDirection } from "./actor-system.ts"
export { BackOff, type BackOffPolicy } from "./back-off.ts"
export { type MemoryBound, memoryBound, type ReadText } from "./container-memory.ts"
export { type ControlHandlers, type ControlInterface, type ControlMethod, defaultDeadlineMs } from "./control.ts"
export { ActorGaveUp, ActorGone, CallDeadlineExceeded, CallDefect, type CallError } from "./errors.ts"
export { type CoalescingOptions, CoalescingQueue, type ItemCost } from "./mailbox/coalescing-queue.ts"
export type { Frame } from "./mailbox/envelope.ts"
export { Inbox, type InboxHandler, type InboxMetrics, MailboxProtocolError } from "./mailbox/inbox.ts"
export { minimumCharge, Outbox, type OutboxMetrics, type OutboxOptions } from "./mailbox/outbox.ts"
export { SharedThread, type SharedThreadOptions } from "./shared-thread.ts"
export type { OutgoingStream, StreamReceiver } from "./stream.ts"
export {
  type ActorSpec,
  type ActorState,
  defaultRestartPolicy,
  type RestartPolicy,
  type Supervisor,
} from "./supervisor.ts"
export { localThread, type StartThread, type Thread, type ThreadObserver, workerThread } from "./thread.ts"
export { cedeCore, keepYoungGenerationsSmall, lowerHelperPriority, lowerThreadPriority } from "./thread-priority.ts"
export { runInWorker } from "./worker.ts"
