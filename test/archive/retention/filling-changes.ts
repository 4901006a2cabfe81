/** Changes that fill a disk: of 20 objects in turn, 30 kB each, which do not compress. */
import { randomBytes } from "node:crypto"
import type { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import { DiskFullError } from "../../../src/archive/directory/archive-errors.ts"
import { encodeFrame } from "../sample-frames.ts"

const objects = 20

/** Those of one life of a sender. */
export class Changes {
  readonly #writer: ArchiveWriter
  readonly #incarnation: number
  readonly #first: number
  readonly #times: Array<number> = []

  /** `first`: the number of its first change. Another life's must be after those of the one before. */
  constructor(writer: ArchiveWriter, first = 1) {
    this.#writer = writer
    this.#incarnation = writer.nextIncarnation("watcher")
    this.#first = first
  }

  /** The number of the next change. */
  get next(): number {
    return this.#first + this.#times.length
  }

  /** When each was received, µs since the Unix epoch. */
  get times(): ReadonlyArray<number> {
    return this.#times
  }

  /** One more, received at `time`. */
  append(time: number): void {
    const change = this.next
    this.#times.push(time)
    const event = {
      ...{ action: "applied" as const, number: 1 + ((change - 1) % objects), time, version: change },
      object: JSON.stringify(randomBytes(30_000).toString("base64")),
    }
    const frame = encodeFrame({ gvk: "v1.Pod", newObjects: change <= objects ? [change] : [], events: [event] })
    this.#writer.append("watcher", this.#incarnation, this.#times.length, frame)
  }
}

/** Commits changes, each a ms after the other, until a commit throws; returns what it throws. */
export const fill = (writer: ArchiveWriter, clock: { micros: number }, changes: Changes): unknown => {
  for (;;) {
    clock.micros += 1000
    changes.append(clock.micros)
    try {
      writer.commit()
    } catch (error) {
      return error
    }
  }
}

/** Whether there is room for what waits for a commit. Retention is told, as the store tells it. */
export const canCommit = (writer: ArchiveWriter): boolean => {
  try {
    writer.commit()
    writer.retention.relax()
    return true
  } catch (error) {
    if (!(error instanceof DiskFullError)) throw error
    writer.retention.press()
    return false
  }
}

/** Everything that retention can do now. */
export const retain = ({ retention }: ArchiveWriter): void => {
  while (retention.step(() => false));
}
