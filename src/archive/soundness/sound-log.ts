/**
 * Whether the write-ahead log of a recording is as it was written.
 *
 * Each of its frames has a checksum that includes all frames before it, and SQLite takes the log to end at the first frame whose checksum is
 * wrong: after one changed bit it shows an older state as if it were all. What follows there may be left over: from before the log was last
 * begun again, when it had other salts; or from a transaction that was not finished, because a write failed or the process was killed, and over
 * which others were written. Such a transaction has no frame that ends it. So if an ending frame with a salt of this log follows, a
 * transaction that was committed cannot be read: the log is damaged.
 *
 * A log that was cut off at the end of a frame cannot be told from one that was written only so far.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs"

/** https://www.sqlite.org/fileformat.html#the_write_ahead_log */
const HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
const LITTLE_ENDIAN = 0x377f0682
const BIG_ENDIAN = 0x377f0683
const PAGE_SIZE_AT = 8
const SALT_AT = 16
const CHECKSUM_AT = 24
/** In the header of a frame. Not 0 in the frame that ends a transaction. */
const FRAME_END_AT = 4
const FRAME_SALT_AT = 8
const FRAME_CHECKSUM_AT = 16

interface RunningSum {
  first: number
  second: number
}

/** What a log holds. */
export interface LogContent {
  /** What is wrong with it, in words; `undefined` if nothing is. */
  readonly fault: string | undefined
  /** Whether it has a transaction that was committed, so that the database alone is an older state. */
  readonly hasTransactions: boolean
}

/** What is wrong with a log, in words; `undefined` if nothing is. Reads all of it, some MiB. @throws what the file system throws */
export const faultOfLog = (path: string): string | undefined => contentOfLog(path).fault

/** Reads all of a log, some MiB. @throws what the file system throws */
export const contentOfLog = (path: string): LogContent => {
  const descriptor = openSync(path, "r")
  try {
    return contentOf(descriptor, fstatSync(descriptor).size)
  } finally {
    closeSync(descriptor)
  }
}

const contentOf = (descriptor: number, size: number): LogContent => {
  let hasTransactions = false
  const content = (fault?: string): LogContent => ({ fault, hasTransactions })
  if (size === 0) return content()
  const header = Buffer.alloc(HEADER_BYTES)
  if (readSync(descriptor, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return content("its log is cut off")
  const magic = header.readUInt32BE(0)
  const sum: RunningSum = { first: 0, second: 0 }
  const isLittle = magic === LITTLE_ENDIAN
  add(sum, header, 0, CHECKSUM_AT, isLittle)
  const pageSize = header.readUInt32BE(PAGE_SIZE_AT)
  if ((!isLittle && magic !== BIG_ENDIAN) || !isSum(sum, header, CHECKSUM_AT))
    return content("the beginning of its log is damaged")
  const salts = [header.readUInt32BE(SALT_AT), header.readUInt32BE(SALT_AT + 4)] as const
  const frame = Buffer.alloc(FRAME_HEADER_BYTES + pageSize)
  let isValid = true
  let firstInvalid: number | undefined
  for (let index = 0; ; index++) {
    const length = readSync(descriptor, frame, 0, frame.length, HEADER_BYTES + index * frame.length)
    if (length < frame.length) return content()
    const [isFirst, isSecond] = salts.map((salt, at) => frame.readUInt32BE(FRAME_SALT_AT + 4 * at) === salt)
    if (isValid) {
      add(sum, frame, 0, 8, isLittle)
      add(sum, frame, FRAME_HEADER_BYTES, frame.length, isLittle)
      isValid = isFirst === true && isSecond === true && isSum(sum, frame, FRAME_CHECKSUM_AT)
    }
    const isEnd = frame.readUInt32BE(FRAME_END_AT) !== 0
    if (isValid) {
      hasTransactions ||= isEnd
      continue
    }
    firstInvalid ??= index + 1
    if ((isFirst || isSecond) && isEnd)
      return content(`its log is damaged at frame ${firstInvalid}; what follows there cannot be read`)
  }
}

/** SQLite's checksum: two sums over pairs of words. */
const add = (sum: RunningSum, bytes: Buffer, from: number, until: number, isLittle: boolean): void => {
  let { first, second } = sum
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  for (let at = from; at < until; at += 8) {
    first = (first + view.getUint32(at, isLittle) + second) >>> 0
    second = (second + view.getUint32(at + 4, isLittle) + first) >>> 0
  }
  sum.first = first
  sum.second = second
}

const isSum = ({ first, second }: RunningSum, bytes: Buffer, at: number): boolean =>
  bytes.readUInt32BE(at) === first && bytes.readUInt32BE(at + 4) === second
