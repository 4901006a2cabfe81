/**
 * Whose request led to a change, out of audit logs. A user is named only if no one else can have made the change: a request that changed nothing returns the version that another one
 * wrote, and the log may lack that one.
 *
 * A request whose version the log does not have is joined by what the object says of its writer ({@link WriteSigns}):
 * program, subresource and second are those of the request, and no other request to the object has the same.
 */
import { type Author, exactJsonIn, type ObjectEvent, objectIn, requestedObject, textIn } from "../../trace/index.ts"
import { type AuditedRange, auditedRangeIn, FoundAuthors, type FoundWrite } from "../rows/author-rows.ts"
import type { KeptKind } from "../rows/kind-table.ts"
import type { ChangeType } from "./changes.ts"
import type { QueriedRecording } from "./queried-recording.ts"
import { isDuring, WriteSigns } from "./write-signs.ts"

/** Who made a change, and with what request. */
export interface ChangeAuthor extends Author {
  /** Of the request in its log. Absent: the log has none, or several requests may have been it. */
  readonly auditID?: string
  /**
   * Present: the log does not have the version that the request led to, or the request may have changed nothing; times
   * say that it was this one.
   */
  readonly isInferred?: true
}

/** A change whose author is asked for. */
interface AskedChange {
  /** Absent: not known; then only what is certain counts. */
  readonly type?: ChangeType
  readonly event: ObjectEvent
  readonly before: Uint8Array | undefined
}

/**
 * µs by which the recorder's clock, and the way of a change to it, may differ from the API server's, where only they
 * say which request it was. A change is not received before its request, so it counts as earlier only by what clocks
 * that are set by NTP differ by. A late change has an estimated time.
 */
const earlySlackMicros = 250_000
const liveSlackMicros = 2_000_000
const lateSlackMicros = 5_000_000

/** µs around a change in which requests are looked for; what they are compared by is more exact. */
const searchMicros = 60_000_000

/** Reads through the connection of a recording. Methods throw ArchiveError. */
export class ChangeAuthors {
  readonly #recording: QueriedRecording
  readonly #found: FoundAuthors

  constructor(recording: QueriedRecording) {
    this.#recording = recording
    this.#found = recording.reading(() => new FoundAuthors(recording.database))
  }

  /** `undefined`: no audit log was ever taken. */
  range(): AuditedRange | undefined {
    return auditedRangeIn(this.#recording.metadata())
  }

  /** `undefined`: it is not known who, or more than one may have been. */
  of(change: AskedChange): ChangeAuthor | undefined {
    const kind = this.#recording.kindOf(change.event.gvk)
    if (kind === undefined || change.type === "vanished") return undefined
    return this.#recording.reading(() => this.#authorOf(kind, change))
  }

  #authorOf(kind: KeptKind, change: AskedChange): ChangeAuthor | undefined {
    const { uid, resourceVersion, action } = change.event
    const isEnd = action === "deleted"
    const writes = this.#found.writes(kind.id, uid, isEnd ? "removed" : "wrote", resourceVersion)
    const certain = writes.filter(({ isCertain }) => isCertain)
    if (certain.length > 0) return onlyOne(certain)
    if (isEnd) return writes.length > 0 ? onlyOne(writes) : this.#requested(kind, change)
    if (writes.length > 0 && change.type !== undefined && change.type !== "appeared") {
      const signs = signsOf(change)
      const possible = writes.filter((write) => signs.agrees(write) !== false)
      const own = possible.filter((write) => signs.agrees(write) === true)
      if (own.length > 0) return onlyOne(beforeAnswers(own))
      if (possible.length > 0) return inferred(beforeAnswers(possible), (first) => isAtTime(first, change))
    }
    const bound = this.#found.writes(kind.id, uid, "bound")
    if (bound.length > 0 && isBinding(change)) return onlyOne(bound)
    const ends = this.#found.writes(kind.id, uid, "removed").filter(({ isCertain }) => isCertain)
    return ends.length > 0 && signsOf(change).isLast
      ? inferred(ends, (first) => isAtTime(first, change))
      : this.#requested(kind, change)
  }

  /** Of the requests of which the log has no more than the name of the object. */
  #requested(kind: KeptKind, change: AskedChange): ChangeAuthor | undefined {
    const { event, type } = change
    const { namespace, name, time, received = time } = event
    const range = { from: Math.min(time, received) - searchMicros, to: Math.max(time, received) + searchMicros }
    const own = this.#found.requests(kind.id, requestedObject(namespace, name), range)
    const ofAll = this.#found.requests(kind.id, requestedObject(namespace, ""), range)
    if (type === undefined || type === "appeared" || own.length + ofAll.length === 0) return undefined
    const signs = signsOf(change)
    const deletions = own.filter(({ author: { verb, subresource } }) =>
      subresource === undefined ? verb === "delete" : subresource === "eviction",
    )
    const enders = [...deletions, ...ofAll]
    const { marked } = signs
    if (event.action === "deleted") {
      if (!signs.wasFree || event.received !== undefined) return undefined
      const near = enders.filter((write) => isNear(write, time, liveSlackMicros))
      return inferred(near, (first) => ofAll.every(isWhole(near)) && isAtTime(first, change))
    }
    if (marked !== undefined) {
      const then = enders.filter((write) => isDuring(write, marked))
      return inferred(then, () => ofAll.every(isWhole(then)))
    }
    const others = own.filter((write) => !deletions.includes(write))
    if (type === "created") {
      const makers = others.filter((write) => write.isCertain && isDuring(write, signs.created))
      return inferred(makers, (first) => signs.isOfOneWriter && signs.agrees(first) === true)
    }
    return inferred(
      others.filter((write) => !write.isCertain && signs.agrees(write) === true),
      () => signs.writers.length === 1,
    )
  }
}

const signsOf = ({ event, before }: AskedChange): WriteSigns => new WriteSigns(before, event.object, event.time)

/** Whether a deletion of a namespace's objects, if it is among those that may have been it, was one of all. */
const isWhole =
  (among: ReadonlyArray<FoundWrite>) =>
  (write: FoundWrite): boolean =>
    write.isCertain || !among.includes(write)

const onlyOne = (writes: ReadonlyArray<FoundWrite>): ChangeAuthor | undefined => {
  const [first, ...others] = writes
  if (first === undefined || others.some(({ authorId }) => authorId !== first.authorId)) return undefined
  const isKnown = others.length === 0 && first.auditID !== ""
  return { ...first.author, ...(isKnown && { auditID: first.auditID }) }
}

const inferred = (
  writes: ReadonlyArray<FoundWrite>,
  isIt: (first: FoundWrite) => boolean,
): ChangeAuthor | undefined => {
  const [first] = writes
  const author = first === undefined || !isIt(first) ? undefined : onlyOne(writes)
  return author && { ...author, isInferred: true }
}

/** What began after another one had returned the version changed nothing. */
const beforeAnswers = ([first, ...others]: ReadonlyArray<FoundWrite>): ReadonlyArray<FoundWrite> =>
  first === undefined ? [] : [first, ...others.filter(({ received }) => received <= first.completed)]

const isAtTime = ({ received, completed }: FoundWrite, { event }: AskedChange): boolean => {
  const isLate = event.received !== undefined
  const from = received - (isLate ? lateSlackMicros : earlySlackMicros)
  return event.time >= from && event.time <= completed + (isLate ? lateSlackMicros : liveSlackMicros)
}

const isNear = ({ received, completed }: FoundWrite, time: number, slack: number): boolean =>
  time >= received - slack && time <= completed + slack

const nodeIn = (object: Uint8Array): string => textIn(objectIn(exactJsonIn(object), "spec"), "nodeName")

/** Whether the change is the one by which the pod got its node. */
const isBinding = ({ event, before }: AskedChange): boolean =>
  before !== undefined && before.length > 0 && nodeIn(before) === "" && nodeIn(event.object) !== ""
