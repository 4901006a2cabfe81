/**
 * What an object says about the times of its writes, by the server's clock, in whole seconds, rounded down:
 *
 * - its creation;
 * - the `time` of each entry of `metadata.managedFields`, which the server sets with a create, update, patch or apply by which the manager gains or changes a
 *   field. A write that only removes fields, one of subresource `scale` or `binding`, and a storage migration leave all of them as they were;
 * - the request of a graceful deletion, `deletionTimestamp` less `deletionGracePeriodSeconds`, which leaves `managedFields` alone.
 *
 * So the latest of them is never after the change that is observed, but it is the time of this change only if one of them moved since the version
 * before ({@link hasMoved}). They are earlier than the change became visible by what validation and admission webhooks take.
 *
 * Read from every object of a watch that is recorded, so: no text, no regular expression, nothing allocated.
 */
import type { ObservedObject } from "./observed-object.ts"

/** The times of an object's writes; to be compared with those of its next version. */
export interface Writes {
  /** The latest, s since the Unix epoch; 0: the object says nothing. */
  readonly written: number
  /** The sum of all, s since 2020, modulo 2^32: it grows when any of them moves. */
  readonly writes: number
  /** Bytes of its managedFields. */
  readonly fields: number
}

/** Whether the version with `writes` was written at the time that it says, rather than by a write that left no time; if not, it cannot be told. */
export const hasMoved = ({ written, writes }: Writes, before: Writes): boolean =>
  written > before.written || (before.writes !== 0 && ((writes - before.writes) | 0) > 0)

/**
 * Whether the version was written again in the second of the version before, by the same manager, if it was written then at all: what is only removed makes
 * managedFields shorter. A deletion does not, and neither does the second write of subresource `scale`.
 */
export const mayBeRewritten = ({ fields }: Writes, before: Writes): boolean => fields === before.fields

/** Of an object that is known from an earlier life: any times, up to the end of that life. */
export const writesOfEarlierLife: Writes = { written: Number.POSITIVE_INFINITY, writes: 0, fields: 0 }

const sumsFrom = 1_577_836_800

const QUOTE = 34
const COMMA = 44
const DASH = 45
const ZERO = 48
const COLON = 58
const T = 84
const Z = 90
/** `2026-11-25T22:42:02Z` */
const timeLength = 20
/** A key with its quotes. */
const key = (name: string): Buffer => Buffer.from(`"${name}"`)
const timeKey = key("time")
const creationKey = key("creationTimestamp")
const deletionKey = key("deletionTimestamp")
const graceKey = key("deletionGracePeriodSeconds")

/** Reads the times of objects. One for each session: a kind's objects mostly have their creation in the same place. */
export class WrittenTimes {
  /** From the resource version of the last object to its creation, bytes. */
  #distance = 0

  /** Sets what the object says about times. Never throws. */
  read(object: ObservedObject): void {
    const { bytes, start, end, scanned } = object
    let written = 0
    let sum = 0
    const { managedFieldsStart, managedFieldsEnd } = scanned
    // Of ten successive offsets modulo ten, each meets a digit of a time that has 20 characters; elsewhere in managedFields digits are rare.
    for (let at = managedFieldsStart + 9; at < managedFieldsEnd; at += 10) {
      const digit = (bytes[at] ?? 0) - ZERO
      if (digit < 0 || digit > 9) continue
      const quote = quoteBefore(bytes, at, managedFieldsStart)
      if (quote < 0 || quote + timeLength >= managedFieldsEnd || !isValueOf(bytes, quote, timeKey)) continue
      const seconds = secondsAt(bytes, quote)
      if (seconds === 0) continue
      if (seconds > written) written = seconds
      sum = (sum + seconds - sumsFrom) | 0
      at = quote + timeLength
    }
    const place = this.#placeOfCreation(bytes, start, end, scanned.resourceVersionEnd)
    object.created = place < 0 ? 0 : secondsAt(bytes, valueAfter(bytes, place, creationKey))
    const requested = place < 0 ? 0 : deletionRequested(bytes, place)
    if (requested !== 0) sum = (sum + requested - sumsFrom) | 0
    object.written = Math.max(written, requested)
    object.writes = sum
    object.fields = managedFieldsEnd - managedFieldsStart
    object.isTerminating = requested !== 0
  }

  #placeOfCreation(bytes: Buffer, start: number, end: number, version: number): number {
    const guess = version + this.#distance
    if (guess > start && guess + creationKey.length < end && isKeyAt(bytes, guess, creationKey)) return guess
    const found = bytes.subarray(start, end).indexOf(creationKey)
    if (found < 0) return -1
    this.#distance = start + found - version
    return start + found
  }
}

/** s since the Unix epoch of the object's creation; 0: it does not say. Some 100 ns. */
export const createdSeconds = ({ bytes, start, end }: Readonly<ObservedObject>): number => {
  const found = bytes.subarray(start, end).indexOf(creationKey)
  return found < 0 ? 0 : secondsAt(bytes, valueAfter(bytes, start + found, creationKey))
}

/**
 * The request of the deletion; 0: none. Servers write it beside the creation: after it in objects of built-in kinds, between it and the
 * grace period, in the order of the alphabet, in custom resources.
 */
const deletionRequested = (bytes: Buffer, creation: number): number => {
  let at = memberAfter(bytes, valueAfter(bytes, creation, creationKey) + timeLength + 2)
  let grace = 0
  let deletion = 0
  for (let members = 0; members < 2; members++) {
    if (isKeyAt(bytes, at, deletionKey)) {
      const value = valueAfter(bytes, at, deletionKey)
      deletion = secondsAt(bytes, value)
      at = memberAfter(bytes, value + timeLength + 2)
    } else if (isKeyAt(bytes, at, graceKey)) {
      at = valueAfter(bytes, at, graceKey)
      for (; isDigit(bytes[at]); at++) grace = grace * 10 + (bytes[at] ?? 0) - ZERO
      at = memberAfter(bytes, at)
    } else break
  }
  return deletion === 0 ? 0 : Math.max(0, deletion - grace)
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte <= 57

const isSpace = (byte: number | undefined): boolean => byte !== undefined && byte <= 32

/** Behind a comma and white space. */
const memberAfter = (bytes: Buffer, end: number): number => {
  let at = end
  while (isSpace(bytes[at]) || bytes[at] === COMMA) at++
  return at
}

/** The value of the member whose key is there. Some proxies rewrite JSON with other white space. */
const valueAfter = (bytes: Buffer, place: number, { length }: Buffer): number => {
  let at = place + length
  while (isSpace(bytes[at]) || bytes[at] === COLON) at++
  return at
}

const isKeyAt = (bytes: Buffer, place: number, name: Buffer): boolean => {
  for (let index = 0; index < name.length; index++) if (bytes[place + index] !== name[index]) return false
  return true
}

/** Whether the value that begins there belongs to a member of that name. */
const isValueOf = (bytes: Buffer, value: number, name: Buffer): boolean => {
  let at = value - 1
  while (isSpace(bytes[at]) || bytes[at] === COLON) at--
  return isKeyAt(bytes, at - name.length + 1, name)
}

/** The nearest quote before, within the length of a time; -1: there is none. */
const quoteBefore = (bytes: Buffer, position: number, first: number): number => {
  const least = Math.max(first, position - timeLength)
  for (let at = position - 1; at >= least; at--) if (bytes[at] === QUOTE) return at
  return -1
}

/** The time in quotes at `quote`, s since the Unix epoch; 0: it is not written as API servers do. */
const secondsAt = (bytes: Buffer, quote: number): number => {
  const isTime =
    bytes[quote] === QUOTE &&
    bytes[quote + 5] === DASH &&
    bytes[quote + 8] === DASH &&
    bytes[quote + 11] === T &&
    bytes[quote + 14] === COLON &&
    bytes[quote + 17] === COLON &&
    bytes[quote + 20] === Z &&
    bytes[quote + 21] === QUOTE
  if (!isTime) return 0
  const year = twoDigits(bytes, quote + 1) * 100 + twoDigits(bytes, quote + 3)
  const month = twoDigits(bytes, quote + 6)
  const day = twoDigits(bytes, quote + 9)
  const seconds = twoDigits(bytes, quote + 12) * 3600 + twoDigits(bytes, quote + 15) * 60 + twoDigits(bytes, quote + 18)
  const result = daysSinceEpoch(year, month, day) * 86_400 + seconds
  return Math.max(result, 0) || 0
}

/** NaN if they are none, which makes every sum NaN. */
const twoDigits = (bytes: Buffer, at: number): number => {
  const tens = (bytes[at] ?? 0) - ZERO
  const ones = (bytes[at + 1] ?? 0) - ZERO
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : Number.NaN
}

/** In the Gregorian calendar, with years that begin in March, so that the day of a leap year is their last. */
const daysSinceEpoch = (year: number, month: number, day: number): number => {
  const shifted = month > 2 ? year : year - 1
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1
  const leaps = Math.floor(shifted / 4) - Math.floor(shifted / 100) + Math.floor(shifted / 400)
  return shifted * 365 + leaps + dayOfYear - 719_468
}
