/** Pins of a recording that no recorder writes to, and of any that is read. */
import { ArchiveWriter } from "../archive-writer.ts"
import type { Pin, PinRequest } from "../pins/pin.ts"
import { pinsIn } from "../pins/pin-rows.ts"
import { openForReading, readingRecording } from "../tables/schema.ts"
import { requireSoundTables } from "../tables/sound-rows.ts"

/**
 * The pins of a recording, the earliest window first. `nowMicros`: µs since the Unix epoch.
 *
 * @throws NotARecordingError, NewerRecordingError, OlderRecordingError, ArchiveIoError, CorruptArchiveError
 */
export const readPins = (directory: string, nowMicros: number = Date.now() * 1000): ReadonlyArray<Pin> =>
  readingRecording(directory, (database) => {
    requireSoundTables(database, directory, ["pin"])
    return pinsIn(database, nowMicros)
  })

/** Makes a pin. @throws PinRefused, DirectoryInUseError if a recorder runs, and other ArchiveErrors */
export const pinRecording = (directory: string, request: PinRequest): Pin =>
  writing(directory, ({ pins }) => pins.add(request))

/** Removes a pin with its copy; whether there was one. @throws DirectoryInUseError if a recorder runs, and other ArchiveErrors */
export const removePin = (directory: string, id: string): boolean => writing(directory, ({ pins }) => pins.remove(id))

const writing = <Answer>(directory: string, write: (writer: ArchiveWriter) => Answer): Answer => {
  // A writer would begin a new recording where there is none.
  openForReading(directory).close()
  const writer = ArchiveWriter.open(directory)
  try {
    return write(writer)
  } finally {
    writer.close()
  }
}
