/**
 * The recorder of one shard as a process. It has a channel to this process, over which it says where it listens and that it records; a recorder whose channel closes
 * ends in order, so that none outlives this process, however that ends.
 */
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"

/** What a recorder says over its channel: the port of its HTTP interface, that it records, and every second, with neither, that it lives. */
export interface ShardMessage {
  readonly port?: number
  readonly isRecording?: boolean
}

/** How a process ended: with a code, by a signal, or because it could not be started. */
export interface ShardEnd {
  readonly code: number | undefined
  readonly facts: string
}

export interface ShardListener {
  readonly heard: (message: ShardMessage) => void
  /** A line of its log, without the line break. */
  readonly line: (text: string) => void
  /** Called once. */
  readonly ended: (end: ShardEnd) => void
}

export interface ShardProcess {
  /** `SIGTERM`: end in order. */
  readonly signal: (name: NodeJS.Signals) => void
}

/** `sharing`: how many recorders share the memory of this replica. */
export type StartShard = (shard: number, sharing: number, listener: ShardListener) => ShardProcess

/** The environment variable that tells a recorder `sharing`. No option: nobody else starts recorders that way. */
export const sharingVariable = "KUBEREEL_RECORDERS_SHARING"

/** Starts this program again, with these words after its name. */
export const startShardProcess = (
  words: ReadonlyArray<string>,
  sharing: number,
  { heard, line, ended }: ShardListener,
): ShardProcess => {
  const child = spawn(process.execPath, [...process.execArgv, process.argv[1] ?? "", ...words], {
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    // A group of its own: Ctrl-C reaches a whole group, and a second signal ends a recorder without waiting for its uploads.
    detached: true,
    env: { ...process.env, [sharingVariable]: String(sharing) },
  })
  if (child.stderr !== null) createInterface({ input: child.stderr }).on("line", line)
  child.on("message", (message) => heard(message as ShardMessage))
  const { promise: end, resolve } = Promise.withResolvers<ShardEnd>()
  // A signal that cannot be sent is an error too, after which the process still runs.
  child.on(
    "error",
    (error) => child.pid === undefined && resolve({ code: undefined, facts: `it did not start: ${error.message}` }),
  )
  child.on("exit", (code, signal) =>
    resolve(
      code === null
        ? { code: undefined, facts: `ended by ${signal}` }
        : { code, facts: `ended with exit code ${code}` },
    ),
  )
  void end.then(ended)
  return { signal: (name) => void child.kill(name) }
}
