/**
 * Limits how much received data may wait for the store in total. Each watcher's mailbox has its own bounds, and all of them fill at the
 * same time, because a full disk is full for every kind. With fixed bounds per kind, the total is unbounded in the number of kinds (10
 * kinds took 271 MB with 24 MiB each).
 */

const mebibyte = 1024 * 1024

/** Bytes shared by the windows of all watchers, and again by their buffers. */
const sharedBytes = 64 * mebibyte

/** The runtime's own bounds; the smallest still lets the store gather a block from one kind. */
const largestWindow = 8 * mebibyte
const largestBuffer = 16 * mebibyte
const smallest = mebibyte

/** Bounds of one watcher's mailbox to the store; see the outbox for their meaning. */
interface MailboxLimits {
  readonly windowBytes: number
  readonly bufferBytes: number
}

/**
 * Bounds for each of so many watchers: 64 MiB are divided among the windows and 64 MiB among the buffers, each at least 1 MiB and at most 8
 * and 16 MiB. The total is at most 128 MiB up to 64 kinds, and 2 MiB a kind beyond.
 */
export const mailboxLimits = (watchers: number): MailboxLimits => {
  const share = Math.max(smallest, Math.floor(sharedBytes / Math.max(1, watchers)))
  return { windowBytes: Math.min(largestWindow, share), bufferBytes: Math.min(largestBuffer, share) }
}

/**
 * Tracks the bounds in use while watchers come and go. A mailbox keeps its bounds for the life of its watcher: a new one gets at most an
 * even share, and at most what the others leave. So the total stays within {@link mailboxLimits}, apart from the minimum of 1 MiB each.
 */
export class MailboxShares {
  readonly #held = new Map<string, MailboxLimits>()

  /** Takes the bounds for one life and releases those of the previous life of that name. `watchers`: how many there will be. */
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

  /** Call when the watcher has ended. */
  release(name: string): void {
    this.#held.delete(name)
  }
}
