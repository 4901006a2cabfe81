/** One log: its writes in the order of time, read piece by piece. */
import * as Schema from "effect/Schema"
import { DecompressionError, plainTrace, type TraceInput } from "../../trace/index.ts"
import type { AuditEntry, AuditedWrite } from "../shapes/audited-write.ts"
import { LogEntries } from "../shapes/log-entries.ts"
import { LogTextReader, TextTooLong } from "../shapes/log-text.ts"
import { ReorderWindow } from "./reorder-window.ts"

/**
 * By how much entries of one log may be out of order. An API server writes an event when its request is done, and CloudWatch and Cloud
 * Logging put batches of up to five seconds beside one another.
 */
const reorderMicros = 5_000_000

/** Of entries that wait for their turn; parsed, they take some five times as much. */
const mostWaitingBytes = 16 * 1024 * 1024

/** Texts at the beginning of a log among which one has a time. */
const mostPeekedTexts = 100

/** A log cannot be read to its end: it is damaged, or no log. */
export class LogUnreadable extends Schema.TaggedError<LogUnreadable>()("LogUnreadable", {
  /** Its name on the command line. */
  log: Schema.String,
  /** Where and why. */
  detail: Schema.String,
}) {
  override get message(): string {
    return `${this.log}: ${this.detail}`
  }
}

/** Receives reports while logs are read. */
export interface LogListener {
  /** Another line or element, whatever is in it. */
  readonly text: () => void
  /** Something that is no audit entry; lines are counted from 1. */
  readonly unknownText: (place: { readonly log: string; readonly line: number; readonly found: string }) => void
  /** The time of an entry, whether it is a write or not. */
  readonly time: (micros: number) => void
  /** More bytes of a log were read, as they are on disk. */
  readonly read: (bytes: number) => void
}

/** A log that may be opened more than once. */
export interface LogSource {
  /** For messages. */
  readonly name: string
  readonly open: () => Promise<TraceInput>
  readonly signal: AbortSignal
}

/** Reads a log from its beginning. */
export class LogFile {
  readonly #name: string
  readonly #texts: AsyncGenerator<Uint8Array, void>
  readonly #listener: LogListener
  readonly #reader = new LogTextReader()
  readonly #entries = new LogEntries()
  readonly #window = new ReorderWindow<AuditedWrite>(reorderMicros, mostWaitingBytes)
  #ready: AuditedWrite[] = []
  #taken = 0
  #isEnded = false
  /** Of the last text. */
  #line = 1

  constructor(input: TraceInput, { name, signal }: LogSource, listener: LogListener) {
    this.#name = name
    const progress = { bytesRead: 0 }
    let told = 0
    const onProgress = (): void => {
      listener.read(progress.bytesRead - told)
      told = progress.bytesRead
    }
    this.#texts = plainTrace(input.bytes, { inputName: name, signal, onProgress }, progress)
    this.#listener = listener
  }

  /** The next write, if it is known already. */
  get head(): AuditedWrite | undefined {
    return this.#ready[this.#taken]
  }

  /** Moves to the write after {@link head}. */
  advance(): void {
    this.#taken++
  }

  /**
   * Reads on until there is a {@link head}; false if there are no more writes. Rejects with InputUnreadable, {@link LogUnreadable} and
   * ExportInterrupted.
   */
  async fill(): Promise<boolean> {
    try {
      while (this.head === undefined && !this.#isEnded) await this.#readOn()
      return this.head !== undefined
    } catch (cause) {
      throw namedError(this.#name, cause)
    }
  }

  async #readOn(): Promise<void> {
    this.#ready = []
    this.#taken = 0
    const next = await this.#texts.next()
    this.#isEnded = next.done === true
    for (const text of next.done === true ? this.#reader.end() : this.#reader.push(next.value)) {
      this.#listener.text()
      const entries = this.#entries.of(text)
      const bytes = Math.ceil(text.bytes.length / entries.length)
      this.#line = text.line
      for (const entry of entries) {
        if (entry.tag === "unknown") this.#unknown(entry.found)
        else if (entry.tag === "write") {
          this.#listener.time(entry.write.time)
          this.#window.push(entry.write.time, bytes, entry.write)
        } else if (entry.time !== undefined) this.#listener.time(entry.time)
      }
    }
    if (this.#isEnded) for (const entry of this.#entries.end()) if (entry.tag === "unknown") this.#unknown(entry.found)
    for (const write of this.#window.ready(this.#isEnded)) this.#ready.push(write)
  }

  #unknown(found: string): void {
    this.#listener.unknownText({ log: this.#name, line: this.#line, found })
  }

  /** Gives the file back. */
  async close(): Promise<void> {
    await this.#texts.return()
  }
}

/**
 * µs at which a log begins, at the latest; negative infinity if its beginning does not say it. Reads no further than necessary, and closes
 * the input. Rejects as {@link LogFile.fill} does.
 */
export const beginningOf = async (input: TraceInput, { name, signal }: LogSource): Promise<number> => {
  const bytes = plainTrace(input.bytes, { inputName: name, signal, onProgress: () => undefined }, { bytesRead: 0 })
  const reader = new LogTextReader()
  const entries = new LogEntries()
  let left = mostPeekedTexts
  try {
    for await (const chunk of bytes)
      for (const text of reader.push(chunk)) {
        const time = timeIn(entries.of(text, true))
        if (time !== undefined) return time - reorderMicros
        if (--left === 0) return Number.NEGATIVE_INFINITY
      }
    return Number.NEGATIVE_INFINITY
  } catch (cause) {
    throw namedError(name, cause)
  } finally {
    await bytes.return()
  }
}

const timeIn = (entries: ReadonlyArray<AuditEntry>): number | undefined => {
  for (const entry of entries) {
    const time = entry.tag === "write" ? entry.write.time : entry.tag === "no-write" ? entry.time : undefined
    if (time !== undefined) return time
  }
  return undefined
}

const namedError = (log: string, cause: unknown): unknown =>
  cause instanceof TextTooLong || cause instanceof DecompressionError
    ? new LogUnreadable({ log, detail: cause.message })
    : cause
