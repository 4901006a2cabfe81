/**
 * Whose request led to a change, out of audit logs. A user is named only if no one else can have made the change: a request that changed nothing returns the version that another one
 * wrote, and the log may lack that one.
 */
import { type Author, exactJsonIn, type ObjectEvent, objectIn, textIn } from "../../trace/index.ts"
import { type AuditedRange, auditedRangeIn, FoundAuthors, type FoundWrite } from "../rows/author-rows.ts"
import type { KeptKind } from "../rows/kind-table.ts"
import type { ChangeType } from "./changes.ts"
import type { QueriedRecording } from "./queried-recording.ts"

/** Who made a change, and with what kind of request. */
export interface ChangeAuthor extends Author {
  readonly verb: string
  /** Absent: the object itself was written. */
  readonly subresource?: string
}

/** A change whose author is asked for. */
interface AskedChange {
  /** Absent: not known; then only what is certain counts. */
  readonly type?: ChangeType
  readonly event: ObjectEvent
  readonly before: Uint8Array | undefined
}

/**
 * µs by which the recorder's clock, and the way of a change to it, may differ from the API server's: within them a request that may have changed nothing
 * counts as that of the change. A late change has an estimated time.
 */
const liveSlackMicros = 2_000_000
const lateSlackMicros = 5_000_000

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
    return this.#recording.reading(() => {
      const write = this.#writeOf(kind, change)
      const author = write && this.#found.author(write.author)
      if (write === undefined || author === undefined) return undefined
      const [verb = "", subresource] = write.action.split(" ")
      return { ...author, verb, ...(subresource !== undefined && { subresource }) }
    })
  }

  #writeOf(kind: KeptKind, change: AskedChange): FoundWrite | undefined {
    const { uid, resourceVersion, action } = change.event
    if (action === "deleted") return onlyOne(this.#found.writes(kind.id, uid, "removed"), () => true)
    const writes = this.#found.writes(kind.id, uid, "wrote", resourceVersion)
    if (writes.length > 0) return onlyOne(writes, (write) => isAtTime(write, change))
    const [bound, another] = this.#found.writes(kind.id, uid, "bound")
    return bound !== undefined && another === undefined && isBinding(change) ? bound : undefined
  }
}

/** The one that is certain, or else the only one that can have been. */
const onlyOne = (
  writes: ReadonlyArray<FoundWrite>,
  isPossible: (write: FoundWrite) => boolean,
): FoundWrite | undefined => {
  const certain = writes.filter(({ isCertain }) => isCertain === 1)
  const [first, ...others] = certain.length > 0 ? certain : writes
  if (first === undefined || (certain.length === 0 && !isPossible(first))) return undefined
  // What began after another one had returned this version changed nothing.
  const end = first.received + first.took
  const rivals = certain.length > 0 ? others : others.filter(({ received }) => received <= end)
  return rivals.every(({ author }) => author === first.author) ? first : undefined
}

const isAtTime = ({ received, took }: FoundWrite, { type, event }: AskedChange): boolean => {
  if (type === undefined || type === "appeared") return false
  const slack = event.received === undefined ? liveSlackMicros : lateSlackMicros
  return event.time >= received - slack && event.time <= received + took + slack
}

const nodeIn = (object: Uint8Array): string => textIn(objectIn(exactJsonIn(object), "spec"), "nodeName")

/** Whether the change is the one by which the pod got its node. */
const isBinding = ({ event, before }: AskedChange): boolean =>
  before !== undefined && before.length > 0 && nodeIn(before) === "" && nodeIn(event.object) !== ""
