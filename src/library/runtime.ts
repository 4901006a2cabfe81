/**
 * Actors on worker threads: each owns its state, runs in a thread of its own, sends frames of bytes to others through mailboxes, serves
 * typed calls, and is restarted when it crashes.
 *
 * ```ts
 * const system = new ActorSystem()
 * const sink = system.spawn({ definition: sinkDefinition, name: "sink", start: workerThread(entry, limits), … })
 * const source = system.spawn({ definition: sourceDefinition, name: "source", start: workerThread(entry, limits), … })
 * system.link("numbers", source, sink)
 * await Effect.runPromise(sink.running())
 * const total = await Effect.runPromise(sink.call("total", undefined))
 * await system.stop()
 * ```
 *
 * Guaranteed: a sender keeps a frame until the receiver acknowledges it, and delivers it again to each new life of the receiver, in order;
 * a receiver that commits a frame's number with its effect processes every frame exactly once. Unacknowledged frames are bounded by bytes.
 * Every call settles: with its result, at its deadline or when the thread ends. Stopping stops senders before their receivers and is
 * bounded in time.
 *
 * Not guaranteed: that a call which failed with `ActorGone` or `CallDeadlineExceeded` had no effect; order between two senders or two
 * mailboxes; that frames never acknowledged survive when the sender itself dies. Its next life starts from what is committed.
 *
 * Under overload `Outbox.isWritable` turns false and the sender must stop producing; nothing is dropped here.
 *
 * The guide is docs/reference/actors.md. The runtime does not know what the frames contain.
 */

export { type Clock, systemClock, type Timer } from "../clock.ts"
export {
  type ActorBody,
  type ActorContext,
  type ActorDefinition,
  ActorGaveUp,
  ActorGone,
  type ActorMetrics,
  type ActorSpec,
  type ActorState,
  type ActorStatus,
  ActorSystem,
  type ActorSystemOptions,
  BackOff,
  type BackOffPolicy,
  CallDeadlineExceeded,
  CallDefect,
  type CallError,
  type CoalescingOptions,
  CoalescingQueue,
  type ControlHandlers,
  type ControlInterface,
  type ControlMethod,
  defaultDeadlineMs,
  defaultRestartPolicy,
  type Frame,
  type Inbox,
  type InboxHandler,
  type InboxMetrics,
  type ItemCost,
  type LinkDirection,
  localThread,
  MailboxProtocolError,
  type MemoryBound,
  type MemoryLimits,
  memoryBound,
  minimumCharge,
  type Outbox,
  type OutboxMetrics,
  type OutboxOptions,
  type ReadText,
  type RestartPolicy,
  runInWorker,
  type StartThread,
  type Supervisor,
  type Thread,
  type ThreadObserver,
  workerThread,
} from "../runtime/index.ts"
