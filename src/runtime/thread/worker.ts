/** The entry point of every worker: a bundled module that imports one actor's body calls {@link runInWorker}. */
import { type MessagePort, parentPort } from "node:worker_threads"
import { systemClock } from "../../clock.ts"
import type { ActorBody, ActorDefinition } from "../actor.ts"
import { ActorHost, type HostCommand } from "../actor-host.ts"
import type { ControlInterface } from "../control.ts"
import { type OpenRoom, Rooms } from "./rooms.ts"

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
