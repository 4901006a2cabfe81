/**
 * The generator's events: on every watch of one kind, one write per event, because the API server flushes each event separately. As fast as
 * the reader takes them, or at a fixed rate, at which events that are due together are sent together.
 *
 * A slow reader delays only its own watch. At a fixed rate the schedule does not wait for it: events that became due meanwhile follow as
 * soon as possible, late.
 */
import type { Socket } from "node:net"
import type { BenchKind } from "./bench-kinds.ts"
import { ChangePlan } from "./change-plan.ts"
import { frameCount, renderFrames } from "./event-frames.ts"
import { listVersion, type ObjectTemplate } from "./object-template.ts"

export interface ChangeSenderOptions {
  readonly kind: BenchKind
  /** Objects of the list; at most 1,000 of them change, one after another. */
  readonly objects: number
  /** 0 to 1 */
  readonly heartbeatShare: number
  /** Takes what generator.ts says on its standard output. */
  readonly say: (line: object) => void
}

/** An order that is sent at a pace: the event before its first, and when the order began, ms as `performance.now`. */
interface Pace {
  readonly from: number
  readonly startMs: number
  readonly perSecond: number
}

export class ChangeSender {
  readonly #options: ChangeSenderOptions
  readonly #plan: ChangePlan
  /** Number of events that every watch should have received by now. */
  #goal = 0
  #pace: Pace | undefined
  readonly #waiting = new Set<() => void>()

  constructor(options: ChangeSenderOptions) {
    this.#options = options
    this.#plan = new ChangePlan(options.heartbeatShare)
  }

  /** Events that the server has had so far, whether or not a watch has received them. */
  get had(): number {
    return this.#goal
  }

  /** That many more events. The order before must have been sent. `perSecond` absent: as fast as they are read. */
  order(events: number, perSecond: number | undefined): void {
    this.#plan.order(events)
    if (perSecond === undefined) {
      this.#pace = undefined
      this.#allow(this.#plan.events)
      return
    }
    this.#pace = { from: this.#goal, startMs: performance.now(), perSecond }
    // On the clock that all processes share, so that others know when an event was due.
    this.#options.say({ pacedFromMs: Number(process.hrtime.bigint()) / 1e6 })
    this.#allowDue(this.#pace)
  }

  /**
   * The events after the first `had`, for as long as the socket is open: what a resumed watch has had is not sent again. A
   * full socket is waited for with one event in hand, or Node would send the events that gather meanwhile with one call.
   *
   * @param isSent which objects the watch is of, by their index. Default: all
   */
  async sendTo(socket: Socket, had: number, isSent: (index: number) => boolean = () => true): Promise<void> {
    const { kind, objects, say } = this.#options
    const frames = renderFrames(kind, frameCount(kind, Math.max(100, Math.min(1000, objects))))
    const frameOf = (number: number): ObjectTemplate => frames[(number - 1) % frames.length] as ObjectTemplate
    // A heartbeat leaves unchanged what changed last before a resumed watch continued.
    for (let number = 1; number <= had; number++) this.#renumber(frameOf(number), number)
    let lateMs = 0
    let wake: () => void = () => undefined
    const wakeUp = (): void => wake()
    for (const event of ["drain", "close", "error"]) socket.on(event, wakeUp)
    this.#waiting.add(wakeUp)
    say({ watches: this.#waiting.size })
    const untilWoken = (): Promise<void> =>
      new Promise((resolve) => {
        wake = resolve
      })
    for (let sent = had; !socket.destroyed; ) {
      while (sent < this.#goal && socket.writableLength === 0 && !socket.destroyed) {
        const frame = frameOf(++sent)
        if (isSent((sent - 1) % frames.length)) {
          this.#renumber(frame, sent)
          if (this.#pace !== undefined) lateMs = Math.max(lateMs, performance.now() - dueMs(this.#pace, sent))
          socket.write(frame.bytes)
        }
        if (sent < this.#plan.events) continue
        say({ sent, atMs: Date.now(), lateMs })
        lateMs = 0
      }
      await untilWoken()
    }
    this.#waiting.delete(wakeUp)
  }

  #renumber(frame: ObjectTemplate, number: number): void {
    frame.number("version", listVersion + number)
    const isHeartbeat = this.#plan.isHeartbeat(number)
    frame.number(isHeartbeat ? "heartbeat" : "change", number)
    if (isHeartbeat) return
    const ms = this.#pace === undefined ? performance.now() : dueMs(this.#pace, number)
    frame.stamp(Math.floor((performance.timeOrigin + ms) / 1000))
  }

  #allow(until: number): void {
    this.#goal = until
    for (const wakeUp of this.#waiting) wakeUp()
  }

  /** Sends what is due, and returns for the next event. */
  #allowDue(pace: Pace): void {
    const due = pace.from + Math.floor(((performance.now() - pace.startMs) / 1000) * pace.perSecond)
    if (due > this.#goal) this.#allow(Math.min(this.#plan.events, due))
    if (this.#goal >= this.#plan.events) return
    setTimeout(() => this.#allowDue(pace), Math.max(0, Math.floor(dueMs(pace, this.#goal + 1) - performance.now())))
  }
}

const dueMs = ({ from, startMs, perSecond }: Pace, number: number): number =>
  startMs + ((number - from) * 1000) / perSecond
