/** The last item of a stream of events that the recorder ends: why it ends, and after which event clients continue. */
import { type EventForm, encodedItem, itemEnd, type ReaderEnding } from "../../actors/index.ts"
import type { RightsEnding } from "./changed-rights.ts"

/**
 * All reasons. `slow-client`: the client took nothing for too long. `time-limit`: no stream lasts longer. The others are those of the reader and of what looks whether the
 * client may still see what it is shown.
 */
export const streamEndReasons = [
  ...(["stopping", "retention", "failed"] as const satisfies ReadonlyArray<ReaderEnding>),
  ...(["rights-changed", "rights-undecided"] as const satisfies ReadonlyArray<RightsEnding>),
  ...(["slow-client", "time-limit"] as const),
] as const

/** Why the recorder ends a stream. */
export type StreamEndReason = (typeof streamEndReasons)[number]

/**
 * The item's bytes. `sequence`: the number after which the client continues; `undefined`: nothing was sent to it, and
 * it did not say where to begin.
 */
export const streamEndItem = (form: EventForm, reason: StreamEndReason, sequence: number | undefined): Buffer => {
  const json = JSON.stringify({ type: "end", reason, ...(sequence !== undefined && { sequence }) })
  const parts = encodedItem(form, { type: "end", sequence }, [json])
  // An encoded item lacks the line feed that ends its last line.
  return Buffer.from(`${parts.join("")}${itemEnd("lines")}`)
}

/** The reader's reason, which comes as text; `failed` if it ended without giving one. */
export const readerEnding = (note: string | undefined): ReaderEnding =>
  note === "retention" || note === "stopping" ? note : "failed"

/** The refusal of a stream that ends before anything of it was sent. */
export const refusalOfEnd = (reason: StreamEndReason): { readonly status: number; readonly message: string } => ({
  status: reason === "retention" ? 410 : reason === "failed" ? 500 : 503,
  message: messages[reason],
})

const messages: Readonly<Record<StreamEndReason, string>> = {
  retention: "retention removed the events that follow",
  stopping: "the recorder is stopping; try again",
  failed: "the recording cannot be read; the recorder's log may say why",
  "rights-changed": "what this client may read has changed; try again",
  "rights-undecided": "the API server could not check access; try again. The recorder's log has the reason",
  "slow-client": "this client took nothing for too long; try again",
  "time-limit": "a stream lasts 24 days at most; connect again",
}
