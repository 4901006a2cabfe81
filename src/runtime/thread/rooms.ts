/**
 * The worker's side of a shared thread: one room for each actor that lives in it.
 *
 * A room has its own host, mailboxes, control port and timers. An exception that leaves the actor's code, in whatever callback, ends this
 * actor's life alone: asynchronous context tells whose it is. Its scope is then closed, because its sockets would otherwise go on without it.
 * Not isolated are the thread's event loop and heap: an endless loop, the memory limit, `process.exit`, and an exception that belongs to no
 * room end all of them.
 */
import { AsyncLocalStorage } from "node:async_hooks"
import type { MessagePort } from "node:worker_threads"
import { systemClock } from "../../clock.ts"
import type { ActorBody, ActorDefinition } from "../actor.ts"
import { ActorHost, type HostCommand, type HostEvent } from "../actor-host.ts"
import type { ControlInterface } from "../control.ts"
import { MortalClock } from "./mortal-clock.ts"

/** To a worker: another actor lives here; its commands and events go through the port. */
export interface OpenRoom {
  readonly type: "open-room"
  readonly port: MessagePort
}

/** To a room. `leave`: the life ends at once, as a crash would. */
export type RoomCommand = HostCommand | { readonly type: "leave"; readonly reason: string }

/** From a room. `left`, the last one: nothing of the life remains in the thread. */
export type RoomEvent = HostEvent | { readonly type: "left" }

interface Crashing {
  crash(cause: unknown): void
}

export class Rooms<Config, Control extends ControlInterface, Report> {
  readonly #definition: ActorDefinition<Config, Control, Report>
  readonly #body: ActorBody<Config, Control, Report>
  readonly #current = new AsyncLocalStorage<Crashing>()

  constructor(definition: ActorDefinition<Config, Control, Report>, body: ActorBody<Config, Control, Report>) {
    this.#definition = definition
    this.#body = body
    process.on("uncaughtException", (error) => this.#failed(error))
    process.on("unhandledRejection", (error) => this.#failed(error))
  }

  open(port: MessagePort): void {
    const clock = new MortalClock(systemClock)
    const host: ActorHost<Config, Control, Report> = new ActorHost(
      this.#definition,
      this.#body,
      {
        post: (event) => port.postMessage(event),
        end: () =>
          void host.release().then(() => {
            clock.end()
            port.postMessage({ type: "left" } satisfies RoomEvent)
            port.close()
          }),
      },
      clock,
    )
    port.on("message", (command: RoomCommand) =>
      this.#current.run(host, () => {
        if (command.type === "leave") host.crash(command.reason)
        else host.receive(command)
      }),
    )
  }

  /** The actor in whose callback this happened crashes; if its life is over already, nothing depends on it any more. */
  #failed(error: unknown): void {
    const host = this.#current.getStore()
    // Thrown in the handler itself, it ends the thread with this error as the reason.
    if (host === undefined) throw error
    host.crash(error)
  }
}
