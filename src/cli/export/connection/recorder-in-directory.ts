/**
 * The recording in a directory, or of a stream in an object store, asked as a recorder is, without one.
 *
 * That of a stream is live: each request is answered from what the store had some 20 s before it. A recording without its recorder is opened up to some
 * moment, so one is opened anew when there is more, and the one before is closed after its last request.
 */
import type { Duplex } from "node:stream"
import { databaseIdentity, isArchiveError, readRecordingFacts } from "../../../archive/index.ts"
import { formatLocalTime } from "../../../local-time.ts"
import { openOfflineRecording } from "../../../recorder/index.ts"
import { directoryToRead } from "./directory-to-read.ts"
import { OfflineRefused, RecordingUnreadable } from "./export-errors.ts"
import { describeCause, oneLine, type Recorder } from "./recorder-connection.ts"

/** µs by which the clocks of two machines may differ without a word. */
const clockTolerance = 10_000_000

/** Opens a recording up to the present moment; `end` closes it after its last request. */
const openMoment = async (directory: string, say: (line: string) => void) => {
  const identity = databaseIdentity(directory)
  const recording = await openOfflineRecording(directory, say).catch((cause: unknown) => {
    throw isArchiveError(cause) ? new RecordingUnreadable({ message: cause.message }) : cause
  })
  let [connections, isOver] = [0, false]
  const closeIfUnused = (): void => {
    if (isOver && connections === 0) void recording.close()
  }
  const connect = (): Duplex => {
    connections++
    return recording.connect().once("close", () => {
      connections--
      closeIfUnused()
    })
  }
  const end = (): void => {
    isOver = true
    closeIfUnused()
  }
  return { ...recording, identity, connect, end }
}

/** `named`: a directory or the address of a stream. Rejects with RecordingUnreadable. `say` takes what a person should know of the recording as a whole, a line each. */
export const recorderInDirectory = async (
  named: string,
  surroundings: { readonly say: (line: string) => void } & Parameters<typeof directoryToRead>[1],
): Promise<{ readonly recorder: Recorder; readonly directory: string; readonly close: () => Promise<void> }> => {
  const { say } = surroundings
  const read = await directoryToRead(named, surroundings)
  const { directory, name, isMirror } = read
  const open = () => openMoment(directory, say)
  let moment = await open().catch((cause: unknown) => {
    read.close()
    throw cause
  })
  let renewing: Promise<void> | undefined
  const renew = async (): Promise<void> => {
    if (!(await read.update())) return
    const before = moment
    const { cut, lastTime } = readRecordingFacts(directory)
    const isSame = cut === before.facts.cut && lastTime === before.facts.lastTime
    if (isSame && databaseIdentity(directory) === before.identity) return
    moment = await open()
    before.end()
  }
  const { facts } = moment
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
    name: `the recording in ${name}`,
    readiness: `reel coverage --data-dir ${name}`,
    url: new URL("http://recording/export"),
    headers: {},
    connect: async () => {
      renewing ??= renew().finally(() => {
        renewing = undefined
      })
      await renewing
      return { createConnection: () => moment.connect() }
    },
    unreachable: (cause) => new RecordingUnreadable({ message: describeCause(cause).detail }),
    refused: ({ status, body }) => new OfflineRefused({ directory: name, status, detail: oneLine(body) }),
    get offline() {
      const { facts: known, outcome } = moment
      const isWritten = known.isWritten && !isMirror
      return { knownUntil: known.lastTime + 1, isWritten, lacksLog: known.lacksLog, outcome }
    },
  }
  const close = async (): Promise<void> => {
    await moment.close()
    read.close()
  }
  return { recorder, directory, close }
}
