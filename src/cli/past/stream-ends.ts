/** Why a recorder ended a stream of events, in words. */
import type { StreamEndReason } from "../../recorder/http/stream-end.ts"
import type { JsonValue } from "../../trace/json/exact-json.ts"

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
