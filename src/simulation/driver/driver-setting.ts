/** What the driver of a Simulation is given: which repetition it is, and everything that it uses of the world. */

import * as Schema from "effect/Schema"
import type { Clock } from "../../clock.ts"
import type { ApiClient, EndpointSource } from "../../kube/index.ts"
import { refuseLacking } from "../replay/forecast.ts"
import type { Repetitions } from "../replay/repetitions.ts"
import type { ReplayOptions } from "../replay/replay-options.ts"
import { type SurveyOptions, surveyReplay } from "../replay/replay-survey.ts"
import type { ReplayWindow } from "../replay/trace-changes.ts"
import type { WebhookIdentity } from "./driver-webhook.ts"

// What is known of a trace before it is replayed: whether the cluster can take it, and how much it is.

/** The part of a trace that is replayed. */
export interface TraceExtent {
  /** µs since the Unix epoch. */
  readonly start: number
  /** µs since the Unix epoch; `undefined`: not known, because the trace is long and does not say. */
  readonly end: number | undefined
  /** Events that will be sent; `undefined`: not known. */
  readonly events: number | undefined
}

/** ms that reading may take before the replay starts. */
const readMs = 1000

/**
 * Reads the trace for at most a second. Rejects with TargetLacks if the cluster cannot take what was read, with the error of the source, and with an ApiError.
 * Without permissions the message names them, before anything is created.
 */
export const extentOf = async (
  { clients, clock, isPartial }: Pick<DriverSetting, "clients" | "clock" | "isPartial">,
  trace: DriverTrace,
  options: Omit<SurveyOptions, "items">,
): Promise<TraceExtent> => {
  const deadline = clock.monotonicMs() + readMs
  const reading = new AbortController()
  let isCut = false
  try {
    const survey = await surveyReplay({ ...options, items: await trace.open(reading.signal) }, () => {
      isCut = clock.monotonicMs() > deadline
      return isCut
    })
    if (!isPartial) await refuseLacking(clients.replay, survey, { name: options.name, followsLives: false })
    const { start, header, tally } = survey
    const { duration } = options.window
    const stated = header?.window?.end
    const most = duration === undefined ? Number.POSITIVE_INFINITY : start + duration
    const end = isCut ? Math.min(stated ?? Number.POSITIVE_INFINITY, most) : survey.end
    const events = tally.kinds.reduce((sum, { applies, deletions }) => sum + applies + deletions, 0)
    return { start, end: Number.isFinite(end) ? end : undefined, events: isCut ? undefined : events }
  } finally {
    reading.abort()
  }
}

// Why a repetition of a Simulation failed.

/** A failure that a person can do something about; everything that the repetition created has been removed, unless the message says otherwise. */
export class DriverFailure extends Schema.TaggedError<DriverFailure>()("DriverFailure", {
  /** What happened, to which object, and what to change: one sentence. */
  problem: Schema.String,
}) {
  override get message(): string {
    return this.problem
  }
}

/** A trace that can be read any number of times. */
export interface DriverTrace {
  /** For people. */
  readonly name: string
  /** From its beginning. `signal` ends this reading. Rejects with what reading throws. */
  readonly open: (signal?: AbortSignal) => Promise<ReplayOptions["items"]>
  /** Call it when nothing is read any more. */
  readonly close: () => void
}

/** Where full reports go. Both reject with an error for people. */
export interface ReportStore {
  /** Contacts the store, so that a wrong address is known before a long replay. Leaves nothing there. */
  readonly check: (url: string, signal: AbortSignal) => Promise<void>
  readonly write: (url: string, json: string) => Promise<void>
}

/** Clients of the same API server. */
interface DriverClients {
  /** For the Simulation itself, without retries of conflicts. */
  readonly own: ApiClient
  /** For the objects of the replay. */
  readonly replay: ApiClient
  /** For the webhook: while writes of `replay` wait for the API server, that waits for the webhook, which must not wait for a connection of `replay`. */
  readonly pods: ApiClient
}

/** Nothing is taken from the process. */
export interface DriverSetting {
  /** Name of the Simulation. */
  readonly simulation: string
  /** Name of the driver's pod. */
  readonly pod: string
  /** From 1. */
  readonly repetition: number
  readonly tracePath: string
  readonly clients: DriverClients
  /** For the recording of the cluster, which has connections of its own. */
  readonly endpoints: EndpointSource
  readonly userAgent: string
  /** The trace of an address. Rejects with an error for people, after retries if it may be momentary. */
  readonly openTrace: (address: string, window: Omit<ReplayWindow, "now">, signal: AbortSignal) => Promise<DriverTrace>
  readonly reports: ReportStore
  readonly webhook: {
    readonly address: string
    readonly port: number
    readonly readIdentity: () => Promise<WebhookIdentity>
  }
  /** Writes at the same time; `clients.replay` must allow as many. */
  readonly concurrency: number
  /** ms that the cluster may take to settle before it is compared with the trace. */
  readonly settleMs: number
  /** Replays although the cluster lacks kinds or permissions. */
  readonly isPartial: boolean
  readonly intoRecordedCluster: boolean
  /** The environment of hooks. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  /** Returns a number in [0, 1). */
  readonly random: () => number
  /** Ends the repetition; what it created is removed all the same. */
  readonly signal: AbortSignal
  /** Called before the replay starts; what it returns is disposed of at the end. Default: nothing. */
  readonly onRun?: ((run: Repetitions) => Promise<AsyncDisposable>) | undefined
  /** Gets one line for people. */
  readonly log: (line: string) => void
}
