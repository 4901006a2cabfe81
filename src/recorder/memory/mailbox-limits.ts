/**
 * How much of what was received may wait for the store, in all. Each watcher's mailbox has bounds of its own, and all of them fill
 * together: a disk that is full is full for every kind. Fixed bounds per kind are none for a recorder of many (10 kinds
 * took 271 MB with 24 MiB each).
 */

const mebibyte = 1024 * 1024

/** Bytes that the windows of all watchers may have together, and once more their buffers. */
const sharedBytes = 64 * mebibyte

/** The runtime's own bounds, and so much at least that the store can gather a block from one kind. */
const largestWindow = 8 * mebibyte
const largestBuffer = 16 * mebibyte
const smallest = mebibyte

/** Bounds of one watcher's mailbox to the store; what they mean is said with the outbox. */
export interface MailboxLimits {
  readonly windowBytes: number
  readonly bufferBytes: number
}

/**
 * For each of so many watchers: 64 MiB are divided among the windows and 64 MiB among the buffers, with 8 and 16 MiB at most and
 * 1 MiB at least. Together at most 128 MiB up to 64 kinds, then 2 MiB a kind.
 */
export const mailboxLimits = (watchers: number): MailboxLimits => {
  const share = Math.max(smallest, Math.floor(sharedBytes / Math.max(1, watchers)))
  return { windowBytes: Math.min(largestWindow, share), bufferBytes: Math.min(largestBuffer, share) }
}

/**
 * Who holds how much, while watchers come and go. A mailbox keeps its bounds for as long as its watcher lives: one that starts gets an
 * even share at most, and of what the others leave. So all together stay within the bounds of {@link mailboxLimits}, but for
 * 1 MiB that each has at least.
 */
export class MailboxShares {
  readonly #held = new Map<string, MailboxLimits>()

  /** The bounds of one life; what the last life of that name held is free. `watchers`: how many there are to be. */
  take(name: string, watchers: number): MailboxLimits {
    this.#held.delete(name)
    const even = mailboxLimits(watchers)
    const others = [...this.#held.values()]
    const left = (pick: (limits: MailboxLimits) => number): number =>
      others.reduce((free, limits) => free - pick(limits), sharedBytes)
    const limits = {
      windowBytes: Math.max(
        smallest,
        Math.min(
          even.windowBytes,
          left(({ windowBytes }) => windowBytes),
        ),
      ),
      bufferBytes: Math.max(
        smallest,
        Math.min(
          even.bufferBytes,
          left(({ bufferBytes }) => bufferBytes),
        ),
      ),
    }
    this.#held.set(name, limits)
    return limits
  }

  /** That watcher is no more. */
  release(name: string): void {
    this.#held.delete(name)
  }
}
