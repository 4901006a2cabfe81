/** The recording in a directory, asked as a recorder is, without one. */

import { isArchiveError } from "../../../archive/index.ts"
import { formatLocalTime } from "../../../local-time.ts"
import { openOfflineRecording } from "../../../recorder/index.ts"
import { OfflineRefused, RecordingUnreadable } from "./export-errors.ts"
import { describeCause, oneLine, type Recorder } from "./recorder-connection.ts"

/** µs by which the clocks of two machines may differ without a word. */
const clockTolerance = 10_000_000

/** Rejects with RecordingUnreadable. `say` takes what a person should know of the recording as a whole, a line each. */
export const recorderInDirectory = async (
  directory: string,
  say: (line: string) => void,
): Promise<{ readonly recorder: Recorder; readonly close: () => Promise<void> }> => {
  const offline = await openOfflineRecording(directory, say).catch((cause: unknown) => {
    throw isArchiveError(cause) ? new RecordingUnreadable({ message: cause.message }) : cause
  })
  const { facts, connect, close } = offline
  const last = formatLocalTime(facts.lastTime / 1000, Date.now())
  if (facts.lacksLog)
    say(
      `the recorder of ${directory} did not end in order, and recording.db-wal is missing: this is an older state, up to ${last}, without the last changes; copy that file too, if it still exists`,
    )
  if (facts.lastTime > Date.now() * 1000 + clockTolerance)
    say(
      `the recording ends at ${last}, which is in the future here: the recorder's clock was ahead or has jumped, or this machine's is wrong; all times are those of the recorder's clock`,
    )
  const recorder: Recorder = {
    name: `the recording in ${directory}`,
    readiness: `reel coverage --data-dir ${directory}`,
    url: new URL("http://recording/export"),
    headers: {},
    connect: async () => ({ createConnection: () => connect() }),
    unreachable: (cause) => new RecordingUnreadable({ message: describeCause(cause).detail }),
    refused: ({ status, body }) => new OfflineRefused({ directory, status, detail: oneLine(body) }),
    offline: {
      knownUntil: facts.lastTime + 1,
      isWritten: facts.isWritten,
      lacksLog: facts.lacksLog,
      outcome: offline.outcome,
    },
  }
  return { recorder, close }
}
