/**
 * One export from its start to its end, whatever takes its bytes.
 *
 * Guaranteed: it ends once, by the first of: the whole trace was taken, it was refused, it failed, a limit was reached, the client
 * went. However it ends, the exporter is told to stop if it has not finished, and nothing is delivered afterwards.
 */
import { createHash } from "node:crypto"
import * as Effect from "effect/Effect"
import type { Clock } from "../../runtime/clock.ts"
import { messageOf } from "../../runtime/errors.ts"
import type { ExportLimits } from "./limits.ts"
import type { ExportRefusal } from "./request.ts"
import type { ExportReader } from "./service.ts"
import type { StartedExport } from "./start.ts"

/** What an export tells of itself before its first byte. */
export type ExportFacts = Pick<StartedExport, "incomplete" | "gaps" | "leftOut" | "unknownOwners" | "removed">

/** Takes the bytes of one export. */
export interface ExportSink {
  /** The export has started. Called at most once, before any piece. */
  begin(facts: ExportFacts): void
  /** Resolves when the next piece may come. A rejection ends the export. */
  take(piece: Uint8Array): Promise<void>
}

export type ExportOutcome =
  /** `sha256` of all bytes. */
  | { readonly tag: "whole"; readonly bytes: number; readonly sha256: Buffer; readonly facts: ExportFacts }
  /** Before any byte. */
  | { readonly tag: "refused"; readonly refusal: ExportRefusal }
  /** `cause`: what the sink rejected with, if it did. */
  | { readonly tag: "failed"; readonly bytes: number; readonly message: string; readonly cause?: unknown }
  /** `status`: for an answer that has not begun. */
  | { readonly tag: "limit"; readonly status: 413 | 504; readonly bytes: number; readonly message: string }
  | { readonly tag: "gone"; readonly bytes: number }

export interface ExportRun {
  readonly start: (reader: ExportReader) => Effect.Effect<StartedExport, ExportRefusal>
  readonly sink: ExportSink
  readonly limits: ExportLimits
  /** Aborted when nobody wants it any more. */
  readonly gone: AbortSignal
  readonly clock: Clock
}

/** Never rejects. */
export const transferExport = ({ start, sink, limits, gone, clock }: ExportRun): Promise<ExportOutcome> =>
  new Promise((resolve) => {
    const digest = createHash("sha256")
    let bytes = 0
    let isOver = false
    let running: StartedExport | undefined
    // Pieces come by another way than the answer to `start` and may overtake it; the sink begins with that answer.
    const { promise: begun, resolve: announceBegin } = Promise.withResolvers<StartedExport | undefined>()
    const settle = (outcome: ExportOutcome): void => {
      if (isOver) return
      isOver = true
      timer.cancel()
      gone.removeEventListener("abort", onGone)
      if (outcome.tag !== "whole") running?.cancel()
      announceBegin(undefined)
      resolve(outcome)
    }
    const onGone = (): void => settle({ tag: "gone", bytes })
    const timer = clock.after(limits.milliseconds, () => {
      const message = `it took longer than ${limits.milliseconds / 1000} s, which is the limit`
      settle({ tag: "limit", status: 504, bytes, message })
    })
    gone.addEventListener("abort", onGone, { once: true })
    if (gone.aborted) return onGone()

    const reader: ExportReader = {
      piece: async (piece) => {
        if ((await begun) === undefined || isOver) return
        if (bytes + piece.length > limits.bytes) {
          const message = `the trace is larger than ${limits.bytes} bytes, which is the limit`
          return settle({ tag: "limit", status: 413, bytes, message })
        }
        bytes += piece.length
        digest.update(piece)
        try {
          await sink.take(piece)
        } catch (cause) {
          settle({ tag: "failed", bytes, message: messageOf(cause), cause })
        }
      },
      end: (error) => {
        void begun.then((facts) => {
          if (facts === undefined) return
          if (error === undefined) settle({ tag: "whole", bytes, sha256: digest.digest(), facts })
          else settle({ tag: "failed", bytes, message: error })
        })
      },
    }
    Effect.runPromise(Effect.result(start(reader))).then(
      (outcome) => {
        if (outcome._tag === "Failure") return settle({ tag: "refused", refusal: outcome.failure })
        // It ended while it was being started.
        if (isOver) return outcome.success.cancel()
        running = outcome.success
        sink.begin(running)
        announceBegin(running)
      },
      (cause: unknown) => settle({ tag: "failed", bytes, message: messageOf(cause), cause }),
    )
  })
