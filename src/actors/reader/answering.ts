/**
 * Runs questions in the reader: several at once, each a piece at a time in turn, and each only as fast as its client takes the answer. A question whose client
 * has gone, or whose recording cannot be read any further, ends, and nothing else does.
 */
import { setTimeout as delay, setImmediate } from "node:timers/promises"
import {
  type KnownIntact,
  type Lease,
  QueriedRecording,
  QuestionRefused,
  RetentionOutranError,
  TimelineCache,
  takeLease,
} from "../../archive/index.ts"
import { messageOf } from "../../message-of.ts"
import { cedeCore, type OutgoingStream } from "../../runtime/index.ts"
import type { JsonObject } from "../../trace/index.ts"
import { answerOf } from "./answer.ts"
import type { AnswerItem } from "./answer-items.ts"
import { type AskedKind, askedKinds } from "./asked-kinds.ts"
import type { Question } from "./question.ts"
import { ReadingFailed } from "./reader-interface.ts"
import { type ReaderEnding, waiting } from "./subscription.ts"

/** Largest piece in bytes; a larger object is sent in several. */
const pieceBytes = 64 * 1024

/** ms of work after which others get their turn, although the piece is not full: a filter may pass over much. */
const turnMs = 8

/** ms after which answers that wait look whether something was committed. The store commits what it has after 30 ms. */
const lookMs = 30

/**
 * How many times a question about what went wrong lets others go first, in all: a second. A page asks it together with its first rows, which took 820 ms in place of
 * 400 ms with 100,000 objects.
 */
const mostPatience = 33

/** ms of work after which the core is ceded: a watcher or the store may wait for it. */
const sliceMs = 0.5

/** Takes an answer. */
export type AnswerStream = Pick<OutgoingStream, "writable" | "send" | "end">

interface AskedNames {
  readonly names: ReadonlyArray<string>
  /** Also where objects of the kinds were recorded. */
  readonly withNamespaces: boolean
}

interface OpenAnswer {
  readonly recording: QueriedRecording
  /** Retention leaves what is being read; but a subscription, which is without end, keeps nothing from it. */
  readonly lease: Lease | undefined
  readonly items: Generator<AnswerItem | typeof waiting, JsonObject, void>
  readonly stream: AnswerStream
  readonly isDocument: boolean
  /** Whether it is a subscription. */
  readonly isEndless: boolean
  /** How many times others still go first. */
  patience: number
  /** The part of the answer that was not sent yet. */
  pending: (string | Uint8Array)[]
  hasItems: boolean
  /** When it had its last turn, ms of a monotonic clock. */
  turnAt: number
  /** Whether it has nothing to say before something is committed. */
  isWaiting: boolean
  /** Whether the end is among what is pending. */
  isDone: boolean
}

export class Answering {
  readonly #directory: string
  readonly #intact: KnownIntact
  readonly #timeline = new TimelineCache()
  readonly #open = new Set<OpenAnswer>()
  /** Resolves when answers that wait look at the recording again: all at the same moments, so a commit reaches all of them together. */
  #look: Promise<void> | undefined

  constructor(directory: string, intact: KnownIntact) {
    this.#directory = directory
    this.#intact = intact
  }

  /** Begins an answer; throws ReadingFailed if there is none. */
  start(question: Question, stream: AnswerStream): void {
    const known = new Map(question.known.map(({ gvk, until }) => [gvk, until]))
    const knownUntil = (gvk: string): number | undefined => known.get(gvk) ?? recording.kindOf(gvk)?.completeThroughTime
    const { about, from, to } = question
    const lease =
      about === "events"
        ? undefined
        : takeLease(this.#directory, {
            fromTime: about === "objects" ? to : from,
            purpose: `a question about ${about}`,
          })
    let recording: QueriedRecording
    try {
      recording = attempt(() => QueriedRecording.open(this.#directory, { knownUntil, intact: this.#intact }))
    } catch (error) {
      lease?.release()
      throw error
    }
    const isDocument = question.isDocument === true
    const items = answerOf(recording, question, { timeline: this.#timeline })
    const open: OpenAnswer = {
      recording,
      lease,
      items,
      stream,
      isDocument,
      isEndless: about === "events",
      patience: about === "findings" ? mostPatience : 0,
      pending: [],
      hasItems: false,
      turnAt: performance.now(),
      isWaiting: false,
      isDone: false,
    }
    try {
      // A question that has no answer is refused before the answer begins.
      attempt(() => this.#take(open, items.next()))
    } catch (error) {
      recording.close()
      lease?.release()
      throw error
    }
    this.#open.add(open)
    void this.#run(open)
  }

  /** The kinds that a question with these names is about, and all others; rejects with ReadingFailed. */
  async askedKinds({ names, withNamespaces }: AskedNames): Promise<ReturnType<typeof askedKinds>> {
    try {
      const recording = QueriedRecording.open(this.#directory, { intact: this.#intact })
      try {
        const asked = askedKinds(recording, names)
        if (!withNamespaces) return asked
        const { directory } = this.#timeline
        this.#timeline.renew(recording)
        for (const kind of recording.kinds)
          for (const _ of directory.read(recording, kind)) {
            cedeCore()
            await setImmediate()
          }
        const located = (kind: AskedKind): AskedKind => {
          const kept = recording.kindOf(kind.gvk)
          return kept === undefined ? kind : { ...kind, namespaces: directory.namespacesOf(kept) }
        }
        return { named: asked.named.map(located), others: asked.others.map(located) }
      } finally {
        recording.close()
      }
    } catch (cause) {
      throw failureOf(cause)
    }
  }

  /** Ends all of them. */
  stop(): void {
    for (const open of this.#open) {
      if (open.isEndless) endEndless(open, "stopping")
      else open.stream.end("the recorder is stopping")
      this.#end(open)
    }
  }

  #end(open: OpenAnswer): void {
    if (!this.#open.delete(open)) return
    open.recording.close()
    open.lease?.release()
  }

  /** A piece at a time, until it has ended or its client is gone. */
  async #run(open: OpenAnswer): Promise<void> {
    while (this.#open.has(open) && (await open.stream.writable())) {
      if (open.isWaiting) await this.#nextLook()
      open.isWaiting = false
      while (open.patience > 0 && this.#isOtherRunning(open)) {
        open.patience--
        await this.#nextLook()
      }
      if (this.#open.has(open)) this.#advance(open)
    }
    this.#end(open)
  }

  /** Another one, whose client takes the answer. */
  #isOtherRunning(open: OpenAnswer): boolean {
    const since = performance.now() - 2 * lookMs
    for (const other of this.#open)
      if (other !== open && other.patience === 0 && !other.isEndless && other.turnAt > since) return true
    return false
  }

  #nextLook(): Promise<void> {
    this.#look ??= delay(lookMs).then(() => {
      this.#look = undefined
    })
    return this.#look
  }

  #advance(open: OpenAnswer): void {
    const begin = performance.now()
    open.turnAt = begin
    let size = 0
    try {
      for (let now = begin, sliceEnd = begin + sliceMs; now < begin + turnMs; now = performance.now()) {
        if (open.isDone || open.isWaiting || !this.#open.has(open) || size >= pieceBytes) break
        if (now >= sliceEnd) {
          cedeCore()
          sliceEnd = performance.now() + sliceMs
        }
        size += this.#take(open, open.items.next())
      }
      if (open.isDone) open.recording.requireUndisturbed()
      send(open)
      if (!open.isDone) return
      open.stream.end()
      this.#end(open)
    } catch (error) {
      if (open.isEndless) endEndless(open, error instanceof RetentionOutranError ? "retention" : "failed")
      else open.stream.end(messageOf(error) || "it failed")
      this.#end(open)
    }
  }

  /** Copies what is valid only until the next item; returns its bytes. */
  #take(open: OpenAnswer, { done, value }: IteratorResult<AnswerItem | typeof waiting, JsonObject>): number {
    if (done === true) {
      open.isDone = true
      const end = JSON.stringify(value)
      const tail = open.isDocument ? `${open.hasItems ? "\n" : `{"items":[`}],${end.slice(1)}\n` : `${end}\n`
      open.pending.push(tail)
      return tail.length
    }
    if (value === waiting) {
      open.isWaiting = true
      return 0
    }
    if (value.length === 0) return 0
    const before = open.isDocument ? (open.hasItems ? ",\n" : `{"items":[\n`) : ""
    open.hasItems = true
    const after = open.isDocument ? "" : "\n"
    const copied = value.map((part) => (typeof part === "string" ? part : Uint8Array.from(part)))
    open.pending.push(before, ...copied, after)
    return copied.reduce((sum, part) => sum + part.length, 0)
  }
}

const send = (open: OpenAnswer): void => {
  const bytes = Buffer.concat(open.pending.map((part) => (typeof part === "string" ? Buffer.from(part) : part)))
  open.pending = []
  for (let start = 0; start < bytes.length; start += pieceBytes)
    open.stream.send(bytes.subarray(start, start + pieceBytes))
}

/**
 * In its order, after the items that were found before: unlike other answers it is nowhere incomplete, it only does not
 * continue.
 */
const endEndless = (open: OpenAnswer, why: ReaderEnding): void => {
  send(open)
  open.stream.end("", why)
}

const attempt = <Value>(run: () => Value): Value => {
  try {
    return run()
  } catch (cause) {
    throw failureOf(cause)
  }
}

const failureOf = (cause: unknown): ReadingFailed => {
  if (cause instanceof QuestionRefused)
    return new ReadingFailed({ message: cause.problem, fault: cause.fault === "request" ? "question" : cause.fault })
  return new ReadingFailed({ message: messageOf(cause), fault: "recording" })
}
