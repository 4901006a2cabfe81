/**
 * Watches a replay: keeps what it does, records its target meanwhile, and compares the two afterwards. A replay never
 * fails because of it. It waits for it twice: until the recorder watches, and until the target has settled at the
 * end.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { ArchiveReader } from "../../archive/index.ts"
import type { Clock } from "../../clock.ts"
import type { EndpointSource } from "../../kube/index.ts"
import { messageOf } from "../../message-of.ts"
import { reasonOf } from "../../recorder/index.ts"
import { kindWithoutVersion, type ObjectEvent, type OwnedLifecycles } from "../../trace/index.ts"
import { notReplayedKinds } from "../objects/not-replayed.ts"
import type { Placement } from "../objects/pod-templates.ts"
import { rootNamespace } from "../objects/target-object.ts"
import type { ReplayWitness, SettledWrite, SubmittedWrite, TraceSchedule } from "../replay/replay-options.ts"
import type { TraceChange } from "../replay/trace-changes.ts"
import type { FidelityReport, FidelityUnknown, UnmeasuredKind } from "../report/fidelity-report.ts"
import { extraObjects, type FoundObjects } from "./extra-objects.ts"
import { judgeReplay } from "./judge-replay.ts"
import { type EndedRecording, recordTarget, type TargetRecording, wholeKinds } from "./target-recording.ts"
import { WriteJournal } from "./write-journal.ts"

/** What is recorded, and how what the replay renames is recognised. */
interface FidelityOptions {
  readonly endpoints: EndpointSource
  readonly userAgent: string
  readonly clock: Clock
  /** Real ms that the target may take to settle at the end. */
  readonly settleMs: number
  /** Where to keep the recording; default: it is removed. */
  readonly directory: string | undefined
  readonly namespacePrefix: string
  readonly placement: Placement
  /** Name of the replay. */
  readonly replay: string
  /** A namespace into which the replay writes nothing, to tell what the target puts into each. Default: that of the replay's root. */
  readonly ordinaryNamespace?: string
}

/** The witness of one run. Dispose of it also if the replay fails: that ends the recorder and removes a temporary recording. */
export class Fidelity implements ReplayWitness, AsyncDisposable {
  readonly #options: FidelityOptions
  readonly #seen = new Set<string>()
  /** Holds the recording. */
  readonly #scope = Scope.makeUnsafe()
  #journal: WriteJournal | undefined
  #recording: TargetRecording | undefined
  #ended: EndedRecording | undefined
  #failure: string | undefined
  #found: FoundObjects = { extra: [], unlisted: [] }
  /** µs since the Unix epoch, and ms after that. */
  #startMicros = 0
  #endMs = 0

  constructor(options: FidelityOptions) {
    this.#options = options
  }

  async begin(kinds: Iterable<string>, signal: AbortSignal): Promise<void> {
    for (const gvk of [...wholeKinds, ...kinds]) if (isRecorded(gvk)) this.#seen.add(gvk)
    await this.#guarded(async () => {
      this.#journal = new WriteJournal()
      const recording = recordTarget({ ...this.#options, kinds: [...this.#seen] })
      this.#recording = await Effect.runPromise(Scope.provide(recording, this.#scope))
      await Effect.runPromise(Effect.raceFirst(this.#recording.ready, aborted(signal)))
    })
  }

  expectKind(gvk: string): void {
    if (this.#seen.has(gvk)) return
    this.#seen.add(gvk)
    this.#recording?.follow(gvk)
  }

  started(startMs: number, schedule: TraceSchedule): void {
    const { clock } = this.#options
    this.#startMicros = clock.wallMicros() - (clock.monotonicMs() - startMs) * 1000
    this.#journal?.started(startMs, schedule)
  }

  passed(change: TraceChange, dueMs: number | undefined): void {
    this.#noted((journal) => journal.passed(change, dueMs))
  }

  lives(owned: OwnedLifecycles): void {
    this.#noted((journal) => journal.lived(owned))
  }

  submitted(write: SubmittedWrite): number {
    let number = -1
    this.#noted((journal) => {
      number = journal.submitted(write)
    })
    return number
  }

  settled(write: number, settled: SettledWrite): void {
    this.#noted((journal) => journal.settled(write, settled))
  }

  async end(until: number, signal: AbortSignal): Promise<void> {
    const { clock, settleMs, replay, ordinaryNamespace = rootNamespace(replay) } = this.#options
    const [journal, recording] = [this.#journal, this.#recording]
    if (journal === undefined || recording === undefined) return
    journal.ended(until)
    await this.#guarded(async () => {
      this.#ended = await Effect.runPromise(recording.end(settleMs, aborted(signal), journal.written))
      this.#endMs = (clock.wallMicros() - this.#startMicros) / 1000
      const places = Array.from(journal.objects.values(), ({ place }) => place)
      if (!signal.aborted) this.#found = await extraObjects({ ...this.#options, ordinaryNamespace, places, signal })
    })
  }

  /** Call it after the replay. `followsLives`: a webhook was to tell pods their recorded lives. `undefined` if the replay did not come to its end. Throws nothing. */
  compare(followsLives = false): FidelityReport | FidelityUnknown | undefined {
    if (this.#failure !== undefined) return { unknown: this.#failure }
    const [journal, ended] = [this.#journal, this.#ended]
    if (journal === undefined || ended === undefined) return undefined
    try {
      return this.#compare(journal, ended, followsLives)
    } catch (error) {
      return { unknown: messageOf(error) }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#journal?.[Symbol.dispose]()
    await Effect.runPromise(Scope.close(this.#scope, Exit.void))
  }

  #compare(
    journal: WriteJournal,
    { directory, cut, unmeasured, since, ...settling }: EndedRecording,
    followsLives: boolean,
  ): FidelityReport {
    const reader = ArchiveReader.open(directory)
    try {
      // A gap before the first list of a kind that the trace installs is no more than the time before that list.
      const gaps = [...reader.gaps({ cut })]
        .filter(({ gvk, reason, fromTime }) => reason !== "stopped" || fromTime >= (since.get(gvk) ?? 0))
        .map(({ gvk, detail }): UnmeasuredKind => ({ gvk, reason: `a gap: ${detail}` }))
      const recorded = {
        events: objectsOf(reader, cut),
        unmeasured: [...unmeasured, ...gaps],
        since,
        followsLives,
        found: this.#found,
        settling,
        startMicros: this.#startMicros,
        endMs: this.#endMs,
      }
      return judgeReplay(journal, recorded, this.#options)
    } finally {
      reader.close()
    }
  }

  /** A failure ends the measurement, not the replay. */
  async #guarded(action: () => Promise<void>): Promise<void> {
    if (this.#failure !== undefined) return
    try {
      await action()
    } catch (error) {
      this.#failure = reasonOf(error)
    }
  }

  #noted(action: (journal: WriteJournal) => void): void {
    if (this.#journal === undefined || this.#failure !== undefined) return
    try {
      action(this.#journal)
    } catch (error) {
      this.#failure = `what the replay does could not be kept: ${messageOf(error)}`
    }
  }
}

/** Succeeds when the signal is aborted. */
const aborted = (signal: AbortSignal): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const done = (): void => resume(Effect.void)
    if (signal.aborted) return done()
    signal.addEventListener("abort", done, { once: true })
    return Effect.sync(() => signal.removeEventListener("abort", done))
  })

/** Kinds that are never replayed are not recorded either. */
const isRecorded = (gvk: string): boolean => wholeKinds.includes(gvk) || !notReplayedKinds.has(kindWithoutVersion(gvk))

function* objectsOf(reader: ArchiveReader, cut: number): Generator<ObjectEvent, void> {
  for (const event of reader.events({ cut })) if (event.type === "object") yield event
}
