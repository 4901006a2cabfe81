/**
 * The definition of an actor: a name for its role, the mailboxes it sends to and receives from, a control interface, and a body.
 *
 * The body is an Effect that acquires what the actor owns within a scope and returns the control handlers. The actor then lives until it is
 * stopped (its scope is closed, its outboxes drain) or crashes (the thread ends, nothing is drained). State that must survive a crash has
 * to be kept by another actor or on disk.
 */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Clock } from "../clock.ts"
import type { ControlHandlers, ControlInterface } from "./control.ts"
import type { Inbox, InboxHandler } from "./mailbox/inbox.ts"
import type { Outbox } from "./mailbox/outbox.ts"

/**
 * The static description of a kind of actor, shared by the thread that spawns it and the thread that runs it.
 * `Config` and `Report` are plain data (structured clone).
 */
export interface ActorDefinition<Config, Control extends ControlInterface, Report> {
  /** The role, `watcher` or `store`: names the worker entry point and the metrics label. */
  readonly role: string
  readonly control: Control
  /** Only for types: the type of the body's reports. */
  readonly "~report"?: Report
  readonly "~config"?: Config
}

/** Passed to the body. */
export interface ActorContext<Config, Report> {
  /** Unique in the system, such as `watcher apps/v1.Deployment`. */
  readonly name: string
  /** Increases with each life of this name. */
  readonly incarnation: number
  readonly config: Config
  readonly clock: Clock
  /** The outbox of that mailbox; frames wait in it until a receiver is linked. */
  outbox(mailbox: string, options?: { readonly windowBytes?: number; readonly bufferBytes?: number }): Outbox
  /**
   * Closes an outbox whose receiver will not come back, and drops what waits in it. A later call of `outbox` makes a new one. Without effect if
   * there is none.
   */
  closeOutbox(mailbox: string): void
  /** The inbox of that mailbox. Call it once per mailbox, before the body's effect completes. */
  inbox(mailbox: string, handler: InboxHandler): Inbox
  /** Reports to the supervisor, one way; for rare events such as a change of state. */
  report(report: Report): void
  /** Crashes this actor: the thread ends, the supervisor restarts it. For failures outside an Effect. */
  crash(cause: unknown): void
}

/** Runs in the actor's thread. An error or defect before or after the handlers are returned is a crash. */
export type ActorBody<Config, Control extends ControlInterface, Report> = (
  context: ActorContext<Config, Report>,
) => Effect.Effect<ControlHandlers<Control>, unknown, Scope.Scope>

/** Memory limits of a role in MiB, as in a worker's `resourceLimits`; see `docs/reference/actors.md` for measured values. */
export interface MemoryLimits {
  /** Old generation: long-lived memory of the role. Beyond it V8 ends the thread and the actor restarts. */
  readonly oldGenerationMb: number
  /** Young generation. A small one matters: 1 MiB semi-spaces took a prototype from 330 to 217 MB at no CPU cost. */
  readonly youngGenerationMb: number
}
