/**
 * One export from start to end, independent of where its bytes go.
 *
 * Guarantee: it ends exactly once, with the first of these: the complete trace was taken, it was rejected, it failed, it reached a limit,
 * the client disconnected. In every case an exporter that has not finished is stopped, and nothing is delivered afterwards.
 */
import { createHash } from "node:crypto"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Clock } from "../../clock.ts"
import { messageOf } from "../../message-of.ts"
import type { ExportRefusal } from "../http/body/http-answer.ts"
import { elapsed } from "../http/body/races.ts"
import type { ExportLimits } from "./limits.ts"
import type { Place } from "./places.ts"
import type { ExportReader } from "./service.ts"
import type { StartedExport } from "./start.ts"

/** The facts that an export announces before its first byte. */
export type ExportFacts = Pick<
  StartedExport,
  "incomplete" | "future" | "gaps" | "late" | "leftOut" | "warnings" | "unknownOwners" | "removed" | "redacted"
>

/** Takes the bytes of one export. */
export interface ExportSink {
  /** Called at most once, when the export has started, before any piece. */
  begin(facts: ExportFacts): void
  /** Resolves when the next piece may come. A rejection ends the export. */
  take(piece: Uint8Array): Promise<void>
}

export type ExportOutcome =
  /** `sha256` of all bytes. `unchanged`: changes left out because they change nothing for a replay. */
  | {
      readonly tag: "whole"
      readonly bytes: number
      readonly sha256: Buffer
      readonly unchanged: number
      readonly facts: ExportFacts
    }
  /** Rejected before any byte was sent. */
  | { readonly tag: "refused"; readonly refusal: ExportRefusal }
  /** `cause`: the sink's rejection, if it was the reason. */
  | { readonly tag: "failed"; readonly bytes: number; readonly message: string; readonly cause?: unknown }
  /** `status`: for a response that has not started. */
  | { readonly tag: "limit"; readonly status: 413 | 503 | 504; readonly bytes: number; readonly message: string }
  | { readonly tag: "gone"; readonly bytes: number }

export interface ExportRun {
  readonly start: (reader: ExportReader) => Effect.Effect<StartedExport, ExportRefusal>
  readonly sink: ExportSink
  readonly limits: ExportLimits
  /** Completes when the client has gone. */
  readonly gone: Effect.Effect<void>
  readonly clock: Clock
  /** Whether it has no end, and so no digest. Default false. */
  readonly isEndless?: boolean
  /** Its place among the exports that run at once, which a slow client loses to another export. Absent: it is never needed. */
  readonly place?: Place
}

/** Interrupting this cancels the export. */
export const transferExport = ({
  start,
  sink,
  limits,
  gone,
  clock,
  place,
  isEndless = false,
}: ExportRun): Effect.Effect<ExportOutcome> =>
  Effect.suspend(() => {
    const digest = createHash("sha256")
    let bytes = 0
    let isOver = false
    let running: StartedExport | undefined
    const outcome = Deferred.makeUnsafe<ExportOutcome>()
    const settle = (how: ExportOutcome): void => {
      isOver = true
      Deferred.doneUnsafe(outcome, Effect.succeed(how))
    }
    // Pieces do not travel with the reply to `start` and may overtake it; the sink must get that reply first.
    const { promise: begun, resolve: announceBegin } = Promise.withResolvers<StartedExport | undefined>()

    const reader: ExportReader = {
      piece: async (piece) => {
        if ((await begun) === undefined || isOver) return
        if (bytes + piece.length > limits.bytes) {
          const message = `the response is larger than ${limits.bytes} bytes, which is the limit`
          return settle({ tag: "limit", status: 413, bytes, message })
        }
        bytes += piece.length
        if (!isEndless) digest.update(piece)
        const taken = place?.taking(piece.length)
        try {
          await sink.take(piece)
          taken?.()
        } catch (cause) {
          settle({ tag: "failed", bytes, message: messageOf(cause), cause })
        }
      },
      end: (error, unchanged = 0) => {
        void begun.then((facts) => {
          if (facts === undefined) return
          if (error === undefined) settle({ tag: "whole", bytes, sha256: digest.digest(), unchanged, facts })
          else settle({ tag: "failed", bytes, message: error })
        })
      },
    }
    const transfer = start(reader).pipe(
      Effect.flatMap((started) => {
        running = started
        sink.begin(started)
        announceBegin(started)
        return Deferred.await(outcome)
      }),
      Effect.catch((refusal) => Effect.succeed<ExportOutcome>({ tag: "refused", refusal })),
      Effect.catchDefect((cause) =>
        Effect.succeed<ExportOutcome>({ tag: "failed", bytes, message: messageOf(cause), cause }),
      ),
    )
    const tooLong = Effect.map(elapsed(clock, limits.milliseconds), (): ExportOutcome => {
      const message = `it took longer than ${limits.milliseconds / 1000} s, which is the limit`
      return { tag: "limit", status: 504, bytes, message }
    })
    const wentAway = Effect.map(gone, (): ExportOutcome => ({ tag: "gone", bytes }))
    const wasNeeded = Effect.map(
      place === undefined ? Effect.never : Effect.promise(() => place.needed),
      (message): ExportOutcome => ({ tag: "limit", status: 503, bytes, message }),
    )
    return Effect.raceAllFirst([wentAway, tooLong, wasNeeded, transfer]).pipe(
      Effect.onExit((exit) =>
        Effect.sync(() => {
          isOver = true
          announceBegin(undefined)
          if (!(Exit.isSuccess(exit) && exit.value.tag === "whole")) running?.cancel()
        }),
      ),
    )
  })
