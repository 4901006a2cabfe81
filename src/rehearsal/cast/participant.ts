/** A controller that takes part in a rehearsal, in whatever form it is. */
import type { AdmissionCall, AdmissionTerms, ReviewRequest } from "../../host/index.ts"
import type { Transport, WatchPolicy } from "../../kube/index.ts"
import type { SeededRandomness, VirtualClock } from "../clock/virtual-clock.ts"
import type { OwnWork } from "../feed/feed-rule.ts"
import type { JournalEntry } from "../journal/journal.ts"

/** The world of a participant. */
export interface Stage {
  readonly transport: Transport
  readonly clock: VirtualClock
  readonly random: SeededRandomness
  readonly note: (entry: JournalEntry) => void
}

export interface Participant {
  /** Its name in the journal, unique. */
  readonly name: string
  readonly work: OwnWork
  /** The webhooks that it has. Default: none. */
  readonly terms?: AdmissionTerms | undefined
  /** Returns the response of one of them. */
  review?(call: AdmissionCall, request: ReviewRequest): Promise<object>
  /** Begins; called once, when the state at the start is there. */
  start(stage: Stage): Promise<void>
  /** Grows whenever it does anything. */
  readonly activity: number
  /** What it has begun and not finished, for people; empty if it is at rest or waits for a timer. */
  readonly busy: ReadonlyArray<string>
  /** Runs of a controller, calls into a module. */
  readonly wakeUps: number
  /** Why it has ended before its time: a module has trapped. */
  readonly failure: string | undefined
  close(): Promise<void>
}

/** s: 63 years, which no recording has, and as many as fit into 32 bits. */
const life = 2_000_000_000

export const lastingWatches: Partial<WatchPolicy> = { watchLifeSeconds: [life, life] }
