/**
 * What an object says of the write that led to a state of it, in whole seconds of the clock of the API server that
 * wrote it. The same server logs the request with the same clock, so a write of another request is told apart without
 * regard to the recorder's clock.
 *
 * A write that only removes fields leaves no sign, and neither do a binding and a storage migration.
 */
import {
  exactJsonIn,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listIn,
  managersBetween,
  memberIn,
  microsOf,
  objectIn,
  textIn,
} from "../../trace/index.ts"
import type { FoundWrite } from "../rows/author-rows.ts"

/** Reads the states when they are asked for. */
export class WriteSigns {
  readonly #before: JsonObject | undefined
  readonly #after: JsonObject | undefined
  readonly #time: number
  #writers: ReturnType<typeof managersBetween>
  #isRead = false

  /** `time`: when the later state was recorded, µs since the Unix epoch. */
  constructor(before: Uint8Array | undefined, after: Uint8Array, time: number) {
    this.#before = stateIn(before)
    this.#after = stateIn(after)
    this.#time = time
  }

  /**
   * Which programs wrote; of a first state, those that did so last. Empty: it does not say, or managedFields are not
   * recorded.
   */
  get writers(): NonNullable<ReturnType<typeof managersBetween>> {
    if (!this.#isRead) {
      this.#isRead = true
      const all = this.#after && managersBetween(this.#before, this.#after, this.#time)
      this.#writers = this.#before === undefined ? all?.filter(({ time }) => time === all[0]?.time) : all
    }
    return this.#writers ?? []
  }

  /** Whether all that is known of the object is of one program. */
  get isOfOneWriter(): boolean {
    const all = (this.#after && managersBetween(undefined, this.#after)) ?? []
    return all.length > 0 && all.every(({ manager }) => manager === all[0]?.manager)
  }

  /** s since the Unix epoch at which the object was made; NaN: it does not say. */
  get created(): number {
    return secondsOf(textIn(objectIn(this.#after, "metadata"), "creationTimestamp"))
  }

  /** s since the Unix epoch at which a deletion marked the object; `undefined`: it did not between the two states. */
  get marked(): number | undefined {
    return isMarked(this.#before) || !isMarked(this.#after) ? undefined : markOf(this.#after)
  }

  /**
   * Whether its grace period was ended. The server does so in the deletion that then removes the object, if no
   * finalizer holds it.
   */
  get isLast(): boolean {
    return graceOf(this.#after) === 0 && graceOf(this.#before) !== 0 && !isHeld(this.#after)
  }

  /** Whether a deletion of the object as it was would have removed it at once. */
  get wasFree(): boolean {
    return this.#before !== undefined && !isMarked(this.#before) && !isHeld(this.#before)
  }

  /** Whether the request was the write; `undefined`: the object does not say. */
  agrees(write: FoundWrite): boolean | undefined {
    const { verb, subresource = "", fieldManager = "" } = write.author
    const { marked, writers } = this
    if (verb === "delete") {
      if (marked !== undefined) return isDuring(write, marked)
      // A second deletion can shorten the grace period, which leaves no sign.
      return isMarked(this.#after) && writers.length === 0 ? undefined : false
    }
    if (fieldManager === "" || writers.length === 0) return undefined
    const own = writers.filter((each) => each.manager === fieldManager && each.subresource === subresource)
    if (own.some(({ time }) => isDuring(write, secondsOf(time)))) return true
    // Entries of subresource `scale` have no time.
    return own.some(({ time }) => time === "") ? undefined : false
  }
}

/** Whether the server handled the request in that second. */
export const isDuring = ({ received, completed }: FoundWrite, second: number): boolean =>
  second >= Math.floor(received / 1e6) && second <= Math.floor(completed / 1e6)

const stateIn = (bytes: Uint8Array | undefined): JsonObject | undefined => {
  const value = bytes === undefined || bytes.length === 0 ? undefined : exactJsonIn(bytes)
  return isJsonObject(value) ? value : undefined
}

const secondsOf = (time: string): number => Math.floor((microsOf(time) ?? Number.NaN) / 1e6)

const isMarked = (object: JsonObject | undefined): boolean =>
  textIn(objectIn(object, "metadata"), "deletionTimestamp") !== ""

const isHeld = (object: JsonObject | undefined): boolean =>
  listIn(objectIn(object, "metadata"), "finalizers").length > 0

const graceOf = (object: JsonObject | undefined): JsonValue | undefined =>
  memberIn(objectIn(object, "metadata"), "deletionGracePeriodSeconds")

/** A grace period lies between the request and the timestamp. */
const markOf = (object: JsonObject | undefined): number => {
  const grace = graceOf(object)
  return secondsOf(textIn(objectIn(object, "metadata"), "deletionTimestamp")) - (typeof grace === "number" ? grace : 0)
}
