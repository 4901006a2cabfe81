/** What a change of the recorded kinds did, for the log. */

import type { RecorderLog } from "../../notices/notice-log.ts"
import { namedKinds } from "../../status/forbidden-kinds.ts"
import type { Reconfiguration } from "../../watchers/spawn-watchers.ts"

/** Kinds that are each told what happened to them. */
const mostTold = 8

/** Logs one line for all changes, and one for each removed kind whose last events were not written. `why`: what has changed. */
export const logReconfiguration = (
  why: string,
  { added, restarted, removed }: Reconfiguration,
  log: RecorderLog,
): void => {
  const parts = [
    ...described(added, "added"),
    ...described(restarted, "with changed settings"),
    ...described(
      removed.map(({ gvk }) => gvk),
      "removed",
    ),
  ]
  log.info(`${why}: ${parts.length === 0 ? "no effect on the tracked kinds" : parts.join(", ")}`)
  for (const { gvk, isDrained, complete } of removed) {
    const until =
      complete === undefined ? "" : `; it is complete until ${new Date(complete.untilMicros / 1000).toISOString()}`
    if (!isDrained) log.warn(`${gvk}: its last events could not be written in time${until}`)
  }
}

const described = (gvks: ReadonlyArray<string>, what: string): ReadonlyArray<string> =>
  gvks.length <= mostTold ? gvks.map((gvk) => `${gvk} ${what}`) : [`${gvks.length} kinds ${what} (${namedKinds(gvks)})`]
