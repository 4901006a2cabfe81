/**
 * What a replay did, write by write, and what the trace says of pods and nodes. Some 200 bytes a write and 100 bytes a
 * life are in memory; texts are on disk, so that a trace larger than memory can be compared. Times are monotonic ms
 * after the first moment of the trace was due; the state at the start has times before 0.
 */
import { tmpdir } from "node:os"
import { fileSpool, type OwnedLifecycles } from "../../trace/index.ts"
import type { TargetPlace } from "../objects/target-object.ts"
import { ownerKey } from "../pods/recorded-lives.ts"
import { keyOf } from "../replay/changes-to-writes.ts"
import type { SettledWrite, SubmittedWrite, TraceSchedule } from "../replay/replay-options.ts"
import type { TraceChange } from "../replay/trace-changes.ts"
import type { WriteOutcome } from "../target/target-cluster.ts"
import { nodeKind, type WrittenVersions } from "./target-recording.ts"

/** Where a text is. */
interface BodyRange {
  readonly offset: number
  readonly length: number
}

/** One write of the replay. */
export interface JournalWrite {
  /** Position among all writes, in the order of submission. */
  readonly number: number
  readonly object: JournalObject
  readonly verb: "apply" | "delete"
  /** µs since the Unix epoch, in the trace. */
  readonly time: number
  /** ms; `undefined` for the state at the start. */
  readonly due: number | undefined
  /** ms: the same without delays of the schedule; NaN without a schedule. */
  readonly planned: number
  /** ms of pauses in `planned`. */
  readonly paused: number
  /** ms; `undefined` if no request was sent. */
  sent: number | undefined
  /** ms; `undefined` while it has no response. */
  settled: number | undefined
  /** `accepted`, or why not. */
  outcome: "accepted" | { readonly tag: "refused" | "skipped"; readonly reason: string }
  /** resourceVersion that the response gave the object; the empty string without one. */
  version: string
  body: BodyRange | undefined
}

/** One object of the target that the replay writes. */
export interface JournalObject {
  readonly place: TargetPlace
  /** In the order of submission, which is that of the requests. */
  readonly writes: JournalWrite[]
}

/** A state of a pod in the trace. */
interface TracePod {
  /** `namespace/name` in the trace. */
  readonly key: string
  /** ms; 0 for the state at the start. */
  readonly at: number
  readonly isAtStart: boolean
  /** Its JSON; `undefined`: it was deleted. */
  readonly body: BodyRange | undefined
}

/** The life of a pod that the trace tells without the pod. */
export interface TraceLife {
  /** As {@link ownerKey} has it, in the trace. */
  readonly owner: string
  /** The owner's, in the trace; empty if it is cluster-scoped. */
  readonly namespace: string
  /** Of the stable pod spec. */
  readonly hash: bigint
  /** Whole seconds since the Unix epoch; `undefined`: not known. */
  readonly start: number | undefined
  /** Whole seconds since the Unix epoch; `undefined`: it had not ended, or this is not known. */
  readonly end: number | undefined
}

/** The part of the trace that was replayed. */
export interface ReplayedTrace {
  /** µs since the Unix epoch: the first moment. */
  readonly start: number
  /** µs since the Unix epoch: the moment at which the replay ended. */
  readonly until: number
  /** When a moment (µs since the Unix epoch) was due, in ms after the first; Infinity: never. */
  readonly dueMs: (moment: number) => number
}

/** A node of the trace that appears or goes, or is changed. */
interface TraceNode {
  readonly name: string
  /** ms; 0 for the state at the start. */
  readonly at: number
  readonly exists: boolean
}

/** Characters of a message that are kept: some name every field of an object. */
const mostCharacters = 300

const shortened = (outcome: Exclude<WriteOutcome, { tag: "accepted" }>): string => {
  const text = outcome.tag === "refused" ? outcome.message : outcome.reason
  return text.length > mostCharacters ? `${text.slice(0, mostCharacters - 1)}…` : text
}

/** Appends while the replay runs, to be read afterwards. Methods throw SpoolError if there is no room for texts. Dispose of it to free the disk. */
export class WriteJournal implements Disposable {
  readonly #bodies = fileSpool(tmpdir())
  /** By their keys in the target. */
  readonly objects = new Map<string, JournalObject>()
  readonly writes: JournalWrite[] = []
  readonly pods: TracePod[] = []
  readonly nodes: TraceNode[] = []
  readonly lives: TraceLife[] = []
  #startMs = Number.NaN
  #schedule: TraceSchedule | undefined
  #until = Number.POSITIVE_INFINITY

  /** `startMs`: monotonic ms. Without a schedule, lives have no times. */
  started(startMs: number, schedule?: TraceSchedule): void {
    this.#startMs = startMs
    this.#schedule = schedule
    for (const write of this.writes) {
      if (write.sent !== undefined) write.sent -= startMs
      if (write.settled !== undefined) write.settled -= startMs
    }
  }

  /** `undefined` if its first moment never was due. */
  get trace(): ReplayedTrace | undefined {
    const schedule = this.#schedule
    if (schedule === undefined) return undefined
    const dueMs = (moment: number): number => schedule.dueMs(moment) - this.#startMs
    return { start: schedule.start, until: this.#until, dueMs }
  }

  /** What the target's watches have to deliver. */
  get written(): WrittenVersions {
    const versions = new Map<string, bigint>()
    for (const { object, version } of this.writes) {
      if (!/^\d+$/.test(version)) continue
      const { gvk } = object.place
      const [latest, own] = [versions.get(gvk) ?? 0n, BigInt(version)]
      if (own > latest) versions.set(gvk, own)
    }
    return versions
  }

  passed({ gvk, namespace, name, object }: TraceChange, dueMs: number | undefined): void {
    const at = dueMs === undefined ? 0 : dueMs - this.#startMs
    if (gvk === nodeKind) this.nodes.push({ name, at, exists: object !== undefined })
    if (gvk !== "v1.Pod") return
    const body = object === undefined ? undefined : this.#keep(object)
    this.pods.push({ key: `${namespace}/${name}`, at, isAtStart: dueMs === undefined, body })
  }

  lived({ gvk, owner, pods }: OwnedLifecycles): void {
    const slash = owner.indexOf("/")
    const namespace = owner.slice(0, Math.max(0, slash))
    const key = ownerKey(gvk, namespace, owner.slice(slash + 1))
    for (const [hash, lives] of pods)
      for (const life of lives) {
        const start = life.state === "empty" ? undefined : life.start
        this.lives.push({ owner: key, namespace, hash, start, end: life.state === "finished" ? life.end : undefined })
      }
  }

  /** The replay has come to this moment of the trace, µs since the Unix epoch, and goes no further. */
  ended(until: number): void {
    this.#until = until
  }

  submitted({ place, verb, time, due }: SubmittedWrite): number {
    const key = keyOf(place)
    const object = this.objects.get(key) ?? { place, writes: [] }
    this.objects.set(key, object)
    const number = this.writes.length
    const write: JournalWrite = {
      number,
      object,
      verb,
      time,
      due: due === undefined ? undefined : due.dueMs - this.#startMs,
      planned: due === undefined ? Number.NaN : due.plannedMs - this.#startMs,
      paused: due?.pausedMs ?? 0,
      sent: undefined,
      settled: undefined,
      outcome: { tag: "skipped", reason: "the replay ended before the response" },
      version: "",
      body: undefined,
    }
    object.writes.push(write)
    this.writes.push(write)
    return number
  }

  settled(number: number, { sentMs, settledMs, outcome, body }: SettledWrite): void {
    const write = this.writes[number]
    if (write === undefined) return
    // When the start is known, what precedes it is corrected.
    const origin = Number.isNaN(this.#startMs) ? 0 : this.#startMs
    write.sent = sentMs === undefined ? undefined : sentMs - origin
    write.settled = settledMs - origin
    if (outcome.tag === "accepted") {
      write.outcome = "accepted"
      write.version = outcome.version
    } else write.outcome = { tag: outcome.tag, reason: shortened(outcome) }
    if (body !== undefined) write.body = this.#keep(Buffer.from(body))
  }

  read({ offset, length }: BodyRange): Buffer {
    return this.#bodies.copyOf(offset, length)
  }

  [Symbol.dispose](): void {
    this.#bodies[Symbol.dispose]()
  }

  #keep(body: Uint8Array): BodyRange {
    const range = { offset: this.#bodies.length, length: body.length }
    this.#bodies.append(body)
    return range
  }
}
