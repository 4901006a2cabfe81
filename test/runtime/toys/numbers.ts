/**
 * Two toys that send the numbers 1, 2, 3 … from one to the other exactly once, whatever dies.
 *
 * The counter has no memory of its own. The sink keeps its memory in a file: each frame is appended together with the number of the frame
 * and the life that sent it. The counter starts where the sink tells it to.
 */
import { closeSync, openSync, readFileSync, writeSync } from "node:fs"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Timer } from "../../../src/clock.ts"
import type { ActorBody, ActorDefinition } from "../../../src/runtime/actor.ts"

export interface CounterConfig {
  readonly last: number
  readonly numbersPerFrame: number
  readonly windowBytes: number
  readonly bufferBytes: number
}

/** Sent with each frame: what the sender knew when it may have been killed. */
export interface CounterReport {
  readonly unacknowledgedFrames: number
  readonly redeliveredFrames: number
}

export const counter: ActorDefinition<CounterConfig, Record<string, never>, CounterReport> = {
  role: "counter",
  control: {},
}

export const counterBody: ActorBody<CounterConfig, Record<string, never>, CounterReport> = (context) =>
  Effect.sync(() => {
    const { last, numbersPerFrame, windowBytes, bufferBytes } = context.config
    const outbox = context.outbox("numbers", { windowBytes, bufferBytes })
    let next = 0
    const produce = (): void => {
      if (next > last) return
      if (!outbox.isWritable) return
      const count = Math.min(numbersPerFrame, last - next + 1)
      const frame = outbox.reserve(count * 4)
      for (let index = 0; index < count; index++) frame.writeUInt32LE(next + index, index * 4)
      next += count
      outbox.commit(count * 4)
      const { unacknowledgedFrames, redeliveredFrames } = outbox.metrics()
      context.report({ unacknowledgedFrames, redeliveredFrames })
      setImmediate(produce)
    }
    outbox.onWritable(produce)
    const resume = context.inbox("resume", {
      attached: () => undefined,
      frame(sender, { incarnation, number, payload }) {
        const [life = 0, committed = 0] = readNumbers(payload)
        resume.acknowledge(sender, incarnation, number)
        if (life !== context.incarnation || next > 0) return
        next = committed + 1
        produce()
      },
    })
    return {}
  })

export interface SinkConfig {
  /** Where the sink keeps its memory. */
  readonly file: string
  /** Frames that are written before they are acknowledged together. */
  readonly framesPerAcknowledgement: number
}

/** Sent with each frame. */
export interface SinkReport {
  readonly committed: number
  readonly duplicateFrames: number
  readonly fencedFrames: number
}

/** ms without a frame after which the sink acknowledges what it has. */
const quietMs = 20

const control = {
  committed: { payload: Schema.Void, success: Schema.Number, error: Schema.Never },
}

export const sink: ActorDefinition<SinkConfig, typeof control, SinkReport> = { role: "sink", control }

export const sinkBody: ActorBody<SinkConfig, typeof control, SinkReport> = (context) =>
  Effect.gen(function* () {
    const { file, framesPerAcknowledgement } = context.config
    const records = readLedger(file)
    let { incarnation: lastLife, number: lastNumber } = records.at(-1) ?? { incarnation: 0, number: 0 }
    let committed = records.at(-1)?.numbers.at(-1) ?? 0
    const descriptor = yield* Effect.acquireRelease(
      Effect.sync(() => openSync(file, "a")),
      (opened) => Effect.sync(() => closeSync(opened)),
    )
    const resume = context.outbox("resume")
    const acknowledge = (sender: string): void => inbox.acknowledge(sender, lastLife, lastNumber)
    let unacknowledged = 0
    let quiet: Timer | undefined
    const inbox = context.inbox("numbers", {
      attached(_sender, incarnation) {
        resume.send(writeNumbers([incarnation, committed]))
        return incarnation === lastLife ? lastNumber : 0
      },
      frame(sender, { incarnation, number, payload }) {
        const numbers = readNumbers(payload)
        writeSync(descriptor, writeNumbers([incarnation, number, numbers.length, ...numbers]))
        lastLife = incarnation
        lastNumber = number
        committed = numbers.at(-1) ?? committed
        unacknowledged++
        const { duplicateFrames, fencedFrames } = inbox.metrics()
        context.report({ committed, duplicateFrames, fencedFrames })
        if (unacknowledged >= framesPerAcknowledgement) {
          unacknowledged = 0
          acknowledge(sender)
        }
        // The last few frames are acknowledged when no more arrive for a while: until then a kill leaves some of them committed but not
        // acknowledged.
        quiet?.cancel()
        quiet = context.clock.after(quietMs, () => acknowledge(sender))
      },
    })
    return { committed: () => Effect.sync(() => committed) }
  })

/** One frame as the sink recorded it. */
export interface LedgerRecord {
  readonly incarnation: number
  readonly number: number
  readonly numbers: ReadonlyArray<number>
}

/** The memory of a sink; empty if there is none yet. */
export const readLedger = (file: string): ReadonlyArray<LedgerRecord> => {
  const words = readNumbers(readFileSync(file, { flag: "a+" }))
  const records: Array<LedgerRecord> = []
  for (let at = 0; at + 3 <= words.length; ) {
    const [incarnation = 0, number = 0, count = 0] = words.slice(at, at + 3)
    records.push({ incarnation, number, numbers: words.slice(at + 3, at + 3 + count) })
    at += 3 + count
  }
  return records
}

const readNumbers = (bytes: Uint8Array): Array<number> => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return Array.from({ length: bytes.byteLength >> 2 }, (_, index) => view.getUint32(index * 4, true))
}

const writeNumbers = (numbers: ReadonlyArray<number>): Uint8Array => {
  const bytes = Buffer.alloc(numbers.length * 4)
  for (const [index, number] of numbers.entries()) bytes.writeUInt32LE(number, index * 4)
  return bytes
}
