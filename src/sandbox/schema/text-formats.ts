/** Texts that the server parses when it decodes an object: times, quantities, base64. */

/** Most times are written by servers, in UTC, and need no parsing. The last days of a month take the slow path. */
const plainTime = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{6})?Z$/
/** Hours may have one digit: the server is lenient there. */
const time = /^(\d{4})-(\d\d)-(\d\d)T(\d{1,2}):(\d\d):(\d\d)([.,]\d+)?(?:Z|[+-](\d\d):(\d\d))$/

/** RFC 3339, any fraction of a second (`metav1.Time`). */
export const isTime = (text: string): boolean => plainTime.test(text) || isInRange(time.exec(text))

/** RFC 3339 with exactly six digits after the second (`metav1.MicroTime`). */
export const isMicroTime = (text: string): boolean => {
  if (plainTime.test(text)) return text.includes(".")
  const match = time.exec(text)
  return match?.[7]?.length === 7 && isInRange(match)
}

const isInRange = (match: RegExpExecArray | null): boolean => {
  if (match === null) return false
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, , offsetHour = 0, offsetMinute = 0] = match
    .slice(1)
    .map((digits) => (digits === undefined ? undefined : Number(digits)))
  if (hour > 23 || minute > 59 || second > 59 || offsetHour > 24 || offsetMinute > 60) return false
  return isDayOf(year, month, day)
}

/** Whether a date exists; months and days count from 1. */
export const isDayOf = (year: number, month: number, day: number): boolean =>
  month >= 1 &&
  month <= 12 &&
  day >= 1 &&
  // Leap years repeat after 400; Date takes two-digit years for years of the 20th century.
  day <= new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()

/** Digits may be missing before a suffix: the server reads `m` as zero. */
const quantity = /^[+-]?\d*(?:\.\d*)?(?:|[numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+)$/

/** A `resource.Quantity` as the server decodes it: a text, or a number that it reads as text. */
export const isQuantity = (value: unknown): boolean =>
  typeof value === "number" || (typeof value === "string" && value !== "" && quantity.test(value.trim()))

/** Standard base64 with padding; line ends are ignored. */
export const isBase64 = (text: string): boolean =>
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text.replace(/[\r\n]/g, ""))
