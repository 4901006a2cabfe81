/**
 * Either side of scenario *mailbox*: a thread that sends frames or receives them, one of three ways. It takes a {@link MailboxStart} or the
 * word "report", to which it replies with the µs of CPU since the start; a sender posts "done" when everything is acknowledged.
 */
import { type MessagePort, parentPort } from "node:worker_threads"
import { Inbox, Outbox } from "../../src/runtime/index.ts"

export type Way = "shared" | "clone" | "transfer"

export interface MailboxRun {
  readonly way: Way
  readonly frameBytes: number
  readonly frames: number
}

export interface MailboxStart extends MailboxRun {
  readonly side: "sender" | "receiver"
  readonly port: MessagePort
}

const windowBytes = 8 * 1024 * 1024
const acknowledgeBytes = 1024 * 1024

/** Calls `send` until all frames are sent and acknowledged. `send` returns false without credit, and is called again. */
const sendAll = (start: MailboxStart, done: () => void): void => {
  const { way, frameBytes, frames, port } = start
  const network = Buffer.alloc(frameBytes, 7)
  if (way === "shared") {
    const outbox = new Outbox("bench", 1, { now: () => performance.now(), windowBytes, bufferBytes: 0 })
    let sent = 0
    const pump = (): void => {
      while (sent < frames && outbox.isWritable) {
        outbox.reserve(frameBytes).set(network)
        outbox.commit(frameBytes)
        sent++
      }
      if (sent === frames) void outbox.flushed().then(done)
    }
    outbox.onWritable(pump)
    outbox.attach(port)
    pump()
    return
  }
  const kept: Array<Uint8Array> = []
  let sent = 0
  const pump = (): void => {
    while (sent < frames && kept.length * frameBytes < windowBytes) {
      const frame = new Uint8Array(frameBytes)
      frame.set(network)
      kept.push(frame)
      sent++
      if (way === "clone") port.postMessage(frame)
      else {
        // A transferred buffer is no longer available here, so a copy is kept for the next receiver.
        const copy = frame.slice()
        port.postMessage(copy, [copy.buffer])
      }
    }
  }
  port.on("message", (acknowledged: number) => {
    kept.splice(0, acknowledged)
    if (sent === frames && kept.length === 0) done()
    else pump()
  })
  pump()
}

const receiveAll = ({ way, frameBytes, port }: MailboxStart): void => {
  const perAcknowledgement = Math.max(1, Math.floor(acknowledgeBytes / frameBytes))
  let seen = 0
  const look = (frame: Uint8Array): void => {
    for (let index = 0; index < frame.length; index += 64) seen = (seen + (frame[index] ?? 0)) | 0
  }
  if (way === "shared") {
    const inbox = new Inbox(
      "bench",
      {
        attached: () => 0,
        frame(sender, { incarnation, number, payload }) {
          look(payload)
          if (number % perAcknowledgement === 0) inbox.acknowledge(sender, incarnation, number)
        },
      },
      (error) => {
        throw error
      },
    )
    inbox.attach("sender", 1, port)
    return
  }
  let unacknowledged = 0
  port.on("message", (frame: Uint8Array) => {
    look(frame)
    if (++unacknowledged < perAcknowledgement) return
    port.postMessage(unacknowledged)
    unacknowledged = 0
  })
}

/** µs of CPU that this thread has used. */
const threadMicros = (): number => {
  const { user, system } = process.threadCpuUsage()
  return user + system
}

const serve = (parent: MessagePort): void => {
  let before = 0
  parent.on("message", (message: MailboxStart | "report") => {
    if (message === "report") {
      parent.postMessage(threadMicros() - before)
      return
    }
    before = threadMicros()
    if (message.side === "receiver") receiveAll(message)
    else sendAll(message, () => parent.postMessage("done"))
  })
}

if (parentPort === null) throw new Error("this is a worker's program")
serve(parentPort)
