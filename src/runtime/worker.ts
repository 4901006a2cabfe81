/** The entry point of every worker: a bundled module that imports one actor's body calls {@link runInWorker}. */

import { AsyncLocalStorage } from "node:async_hooks"
import { type MessagePort, parentPort } from "node:worker_threads"
import { systemClock } from "../clock.ts"
import { tellProgress } from "../progress.ts"
import type { ActorBody, ActorDefinition } from "./actor.ts"
import { ActorHost, type HostCommand, type HostEvent, MortalClock } from "./actor-host.ts"
import type { ControlInterface } from "./control.ts"

/**
 * Runs one life of the actor in this worker; after a crash it exits with code 1. If its supervisors share the worker (shared-thread.ts), it runs
 * any number of lives, and a crash ends one of them.
 */
export const runInWorker = <Config, Control extends ControlInterface, Report>(
  definition: ActorDefinition<Config, Control, Report>,
  body: ActorBody<Config, Control, Report>,
): void => {
  const port = parentPort
  if (port === null) throw new Error(`${definition.role}: this entry point runs in a worker thread`)
  let rooms: Rooms<Config, Control, Report> | undefined
  let host: ActorHost<Config, Control, Report> | undefined
  port.on("message", (command: HostCommand | OpenRoom) => {
    if (command.type === "open-room") {
      rooms ??= new Rooms(definition, body)
      rooms.open(command.port)
    } else {
      host ??= onlyLife(definition, body, port)
      host.receive(command)
    }
  })
}

const onlyLife = <Config, Control extends ControlInterface, Report>(
  definition: ActorDefinition<Config, Control, Report>,
  body: ActorBody<Config, Control, Report>,
  port: MessagePort,
): ActorHost<Config, Control, Report> => {
  let crashed = false
  tellProgress(() => port.postMessage({ type: "progress" } satisfies HostEvent))
  return new ActorHost(
    definition,
    body,
    {
      post: (event) => {
        if (event.type === "crashed") crashed = true
        port.postMessage(event)
      },
      // Messages posted just before are still delivered: the port is flushed when the thread exits.
      end: () => setImmediate(() => process.exit(crashed ? 1 : 0)),
    },
    systemClock,
  )
}

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

/**
 * The worker's side of a shared thread: one room for each actor that lives in it, with its own host, mailboxes, control port and timers.
 *
 * An exception that leaves the actor's code, in whatever callback, ends this actor's life alone: asynchronous context
 * tells whose it is. Its scope is then closed, because its sockets would otherwise stay in use without it. Not isolated
 * are the thread's event loop and heap: an endless loop, the memory limit, `process.exit`, and an exception that
 * belongs to no room end all of them.
 */
class Rooms<Config, Control extends ControlInterface, Report> {
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
