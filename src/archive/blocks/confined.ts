/** Damage that is confined to a block is an answer of its own (docs/decisions/0035-damage-is-confined.md). */
import { ArchiveIoError, CorruptArchiveError } from "../directory/archive-errors.ts"

/** What was read, or why it cannot be: it is damaged, or the disk does not return it. Everything else is thrown. */
export const confined = <Answer extends object>(read: () => Answer): Answer | string => {
  try {
    return read()
  } catch (error) {
    if (error instanceof CorruptArchiveError) return error.reason
    if (error instanceof ArchiveIoError) return `${error.code}: ${error.reason}`
    throw error
  }
}
