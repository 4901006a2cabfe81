/** The generator as the scenarios use it: a cluster in its own process. */
import { fileURLToPath } from "node:url"
import { type Launch, plainly } from "../processes/another-machine.ts"
import { fieldOf, LineProcess } from "../processes/line-process.ts"
import { ChangePlan } from "./change-plan.ts"
import type { GeneratorOptions } from "./generator.ts"

/** ms for a process to start on a busy machine. */
const startMs = 15_000

/** An order that was sent at a pace. */
export interface PacedOrder {
  /** When its first event would have been due had there been one at the start, ms on the clock of `process.hrtime`. */
  readonly startMs: number
  /** How long after it was due an event was written at the latest, ms: the generator's delays and the reader's. */
  readonly lateMs: number
}

/** An API server that lists, and sends changes when told. */
export class BenchCluster implements AsyncDisposable {
  readonly port: number
  readonly #process: LineProcess
  /** The orders since the start. */
  readonly #plan: ChangePlan
  #watches = 0
  #sent = 0

  static async start(options: GeneratorOptions = {}, launch: Launch = plainly): Promise<BenchCluster> {
    const script = fileURLToPath(new URL("./generator.ts", import.meta.url))
    const child = new LineProcess({ ...launch([script, JSON.stringify(options)]), endsBy: "input" })
    try {
      const port = await child.hear("the generator's port", startMs, fieldOf<number>("port"))
      return new BenchCluster(child, port, options.heartbeatShare ?? 0)
    } catch (cause) {
      await child[Symbol.asyncDispose]()
      throw cause
    }
  }

  private constructor(child: LineProcess, port: number, heartbeatShare: number) {
    this.#process = child
    this.port = port
    this.#plan = new ChangePlan(heartbeatShare)
    // For as long as the process lives: it tells each time.
    child.listen((line) => {
      this.#watches = fieldOf<number>("watches")(line) ?? this.#watches
      this.#sent = fieldOf<number>("sent")(line) ?? this.#sent
    })
  }

  /** The process, for /proc. */
  get pid(): number {
    return this.#process.pid
  }

  get server(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** Watches of Deployments that were open when the last of them began. */
  get watches(): number {
    return this.#watches
  }

  /** Events ordered so far, heartbeats included. */
  get ordered(): { readonly events: number } {
    return { events: this.#plan.events }
  }

  /** True for events that change nothing but status; of those ordered, counted from 1. */
  isHeartbeat(number: number): boolean {
    return this.#plan.isHeartbeat(number)
  }

  /**
   * Sends `count` more events of Deployments on every watch of them, `perSecond` a second or as fast as they are read. Resolves
   * when the last was given to a socket: the wall clock, ms. Rejects after `timeoutMs`.
   */
  async change(count: number, timeoutMs: number, perSecond?: number): Promise<number> {
    return (await this.#order(count, timeoutMs, perSecond)).atMs
  }

  /** The same, and returns when each event was due. */
  async changeAtPace(count: number, perSecond: number, timeoutMs: number): Promise<PacedOrder> {
    const start = this.#process.hear("the start of a pace", timeoutMs, fieldOf<number>("pacedFromMs"))
    const [startMs, { lateMs }] = await Promise.all([start, this.#order(count, timeoutMs, perSecond)])
    return { startMs, lateMs }
  }

  #order(count: number, timeoutMs: number, perSecond: number | undefined): Promise<Sent> {
    this.#plan.order(count)
    const ordered = this.#plan.events
    const sent = this.#process.hear(`${count} events`, timeoutMs, (line) =>
      fieldOf<number>("sent")(line) === ordered ? (JSON.parse(line) as Sent) : undefined,
    )
    this.#process.tell({ changes: count, ...(perSecond !== undefined && { perSecond }) })
    return sent
  }

  /** Resolves when everything ordered so far was given to a socket. Rejects after `timeoutMs`. */
  async whenSent(timeoutMs: number): Promise<void> {
    const { events } = this.ordered
    if (this.#sent >= events) return
    await this.#process.hear(`${events} events`, timeoutMs, (line) =>
      fieldOf<number>("sent")(line) === events ? true : undefined,
    )
  }

  /** As `promise`, but rejects if the generator fails first, so that no one waits for ever. */
  during<Value>(promise: Promise<Value>): Promise<Value> {
    return this.#process.during("the generator", promise)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]()
  }
}

interface Sent {
  readonly atMs: number
  readonly lateMs: number
}
