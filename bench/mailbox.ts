/**
 * What a frame costs on its way from one thread to another: written into shared memory (src/runtime), cloned, or transferred.
 *
 *   node bench/mailbox.ts [rounds]
 *
 * Each way does the same work: the sender copies bytes "from the network" into the frame and keeps the frame until it is
 * acknowledged; the receiver looks at one byte per cache line and acknowledges every MiB; 8 MiB may be unacknowledged. The
 * ways take turns within each round, and the median of the rounds is shown. Sender and receiver are the CPU time of their
 * threads; process also counts what V8's other threads do to collect the garbage.
 */
import { isMainThread, MessageChannel, type MessagePort, parentPort, Worker } from "node:worker_threads"
import { Inbox } from "../src/runtime/inbox.ts"
import { Outbox } from "../src/runtime/outbox.ts"

type Way = "shared" | "clone" | "transfer"

interface Run {
  readonly way: Way
  readonly frameBytes: number
  readonly frames: number
}

interface Start extends Run {
  readonly side: "sender" | "receiver"
  readonly port: MessagePort
}

const windowBytes = 8 * 1024 * 1024
const acknowledgeBytes = 1024 * 1024

/** Calls `send` until all frames are sent and acknowledged. `send` answers false without credit, and is called again. */
const sendAll = (start: Start, done: () => void): void => {
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
        // What is transferred is gone from here, so what is kept for the next receiver is a copy.
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

const receiveAll = ({ way, frameBytes, port }: Start): void => {
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
  parent.on("message", (message: Start | "report") => {
    if (message === "report") {
      parent.postMessage(threadMicros() - before)
      return
    }
    before = threadMicros()
    if (message.side === "receiver") receiveAll(message)
    else sendAll(message, () => parent.postMessage("done"))
  })
}

interface Costs {
  readonly sender: number
  readonly receiver: number
  readonly process: number
  readonly wall: number
}

const answer = (worker: Worker): Promise<unknown> => new Promise((resolve) => worker.once("message", resolve))

const measure = async (run: Run): Promise<Costs> => {
  const [sender, receiver] = [new Worker(new URL(import.meta.url)), new Worker(new URL(import.meta.url))]
  const once = async (frames: number): Promise<Costs> => {
    const { port1, port2 } = new MessageChannel()
    const cpu = process.cpuUsage()
    const wall = performance.now()
    receiver.postMessage({ ...run, frames, side: "receiver", port: port2 } satisfies Start, [port2])
    const done = answer(sender)
    sender.postMessage({ ...run, frames, side: "sender", port: port1 } satisfies Start, [port1])
    await done
    const elapsed = performance.now() - wall
    const { user, system } = process.cpuUsage(cpu)
    const micros: Array<number> = []
    for (const worker of [sender, receiver]) {
      const reported = answer(worker)
      worker.postMessage("report")
      micros.push(Number(await reported) / frames)
    }
    const [sent = 0, received = 0] = micros
    return { sender: sent, receiver: received, process: (user + system) / frames, wall: (elapsed * 1000) / frames }
  }
  // Warm up. A power of two like the frames of a run, so that the last of them fill an acknowledgement.
  await once(run.frames / 8)
  const costs = await once(run.frames)
  await Promise.all([sender.terminate(), receiver.terminate()])
  return costs
}

const median = (values: ReadonlyArray<number>): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

const main = async (): Promise<void> => {
  const rounds = Number(process.argv[2] ?? 5)
  const ways: ReadonlyArray<Way> = ["shared", "clone", "transfer"]
  console.log("µs a frame          sender  receiver  process     wall")
  for (const kib of [16, 64, 256]) {
    const results = new Map<Way, Array<Costs>>(ways.map((way) => [way, []]))
    for (let round = 0; round < rounds; round++) {
      for (const way of ways) {
        const frames = (1024 * 1024) / kib / 2
        results.get(way)?.push(await measure({ way, frameBytes: kib * 1024, frames }))
      }
    }
    for (const [way, costs] of results) {
      const cell = (column: keyof Costs): string =>
        median(costs.map((each) => each[column]))
          .toFixed(1)
          .padStart(9)
      console.log(
        `${`${kib} KiB`.padStart(7)} ${way.padEnd(9)}${cell("sender")} ${cell("receiver")}${cell("process")}${cell("wall")}`,
      )
    }
  }
}

if (isMainThread) await main()
else if (parentPort !== null) serve(parentPort)
