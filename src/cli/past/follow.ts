/**
 * `--follow`: what changed since a moment, and then what changes, until Ctrl-C. A connection that breaks, or that the recorder ends, is opened again where it was, so no
 * change is missing or printed twice; a recorder that refuses that, because a right was lost or what follows was removed, ends it.
 */

import type { StreamEndReason } from "../../recorder/http/stream-end.ts"
import type { JsonObject, JsonValue } from "../../trace/json/exact-json.ts"
import { Misasked } from "../command-line/exit-codes.ts"
import { isExportError } from "../export/connection/export-errors.ts"
import type { Asking } from "./asking.ts"
import { askPast, type PastParameters } from "./past-client.ts"

// Why a recorder ended a stream of events, in words.

/** For each reason, what to say of the recorder. */
const reasons: Readonly<Record<StreamEndReason, string>> = {
  retention: "retention has removed the events that follow",
  stopping: "it is stopping",
  failed: "it cannot read the recording",
  "rights-changed": "what you may read has changed",
  "rights-undecided": "it could not check what you may read",
  "slow-client": "this client took nothing for too long",
  "time-limit": "no stream lasts longer",
}

/** A reason as a recorder names it; one that is not known here, of a newer recorder, is given as it is. */
export const streamEndText = (reason: JsonValue | undefined): string =>
  Object.entries(reasons).find(([name]) => name === reason)?.[1] ?? String(reason)

/** ms before the first attempt to go on, and the longest; each attempt waits for twice as long as the one before. */
const firstPauseMs = 500
const longestPauseMs = 15_000

/** A time that no recording reaches. */
const never = Number.MAX_SAFE_INTEGER

/**
 * Changes as the recorder describes them. Gaps are among them, of type `gap`. Ends when the signal is aborted. Rejects with an ExportError if the recorder
 * does not answer at first, or refuses to go on.
 */
export async function* followedChanges(
  { places, signal, lacks, say }: Asking,
  parameters: PastParameters & { readonly from: number },
): AsyncGenerator<JsonObject, boolean, void> {
  const [place, another] = places
  if (place === undefined || another !== undefined)
    throw new Misasked("--follow is about one recording: name one recorder or one directory")
  try {
    const end = yield* askPast(place, "changes", { ...parameters, to: never }, signal)
    lacks(end)
    const { from: _, ...selection } = parameters
    let after = Number(end.cut)
    for (let pauseMs = firstPauseMs; ; ) {
      let why: string
      try {
        const events = askPast(place, "events", { ...selection, after, objects: false, differences: true }, signal)
        let next = await events.next()
        for (; next.done !== true; next = await events.next()) {
          after = Number(next.value.sequence)
          pauseMs = firstPauseMs
          if (next.value.type !== "progress") yield next.value
        }
        const { reason, sequence } = next.value
        after = Number(sequence ?? after)
        why = `${place.recorder.name} ended the stream: ${streamEndText(reason)}`
      } catch (cause) {
        if (signal.aborted || !isExportError(cause) || isFinal(cause)) throw cause
        why = cause.message.replace(/\.$/, "")
      }
      say(`${why}; trying again in ${pauseMs / 1000} s`)
      await paused(pauseMs, signal)
      pauseMs = Math.min(2 * pauseMs, longestPauseMs)
    }
  } catch (cause) {
    if (signal.aborted) return true
    throw cause
  }
}

/** Whether trying again would bring the same answer, such as that what followed is not kept any more. */
const isFinal = (cause: object): boolean => {
  const { status } = cause as { readonly status?: number }
  return status !== undefined && status !== 429 && status < 500
}

const paused = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener("abort", done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener("abort", done)
  })
