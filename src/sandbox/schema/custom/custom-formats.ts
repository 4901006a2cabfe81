/**
 * The string formats of custom schemas that are checked; unknown names are ignored, as by the server. Close to the server's
 * parsers (kube-openapi, pkg/validation/strfmt), with differences in edge cases of e-mail addresses and URIs.
 */

import { isIP, isIPv4, isIPv6 } from "node:net"
import { isBase64, isDayOf } from "../text-formats.ts"

const hex = "[0-9a-f]"
const uuid = (third: string, fourth: string): RegExp =>
  new RegExp(`^${hex}{8}-?${hex}{4}-?${third}-?${fourth}-?${hex}{12}$`, "i")
const dateTime = /^([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})$/i

const isDate = (text: string): boolean => {
  const match = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text)
  if (match === null) return false
  const [year = 0, month = 0, day = 0] = match.slice(1).map(Number)
  return isDayOf(year, month, day)
}

const isDateTime = (text: string): boolean => {
  const [date = "", time = "", ...rest] = text.split(/[tT]/)
  const [, hour, minute, second] = dateTime.exec(time) ?? []
  return (
    rest.length === 0 &&
    isDate(date) &&
    hour !== undefined &&
    Number(hour) < 24 &&
    Number(minute) < 60 &&
    Number(second) < 60
  )
}

const isHostname = (text: string): boolean =>
  text.length <= 255 &&
  /^(?:[\p{L}\p{S}\d](?:[\p{L}\p{S}\d-]{0,61}[\p{L}\p{S}\d])?\.?)+$/u.test(text) &&
  !text.endsWith(".")

const isCidr = (text: string): boolean => {
  const [address = "", length = "", ...rest] = text.split("/")
  const version = isIP(address)
  return rest.length === 0 && version !== 0 && /^\d{1,3}$/.test(length) && Number(length) <= (version === 4 ? 32 : 128)
}

/** Go's request URIs: an absolute path, or a scheme followed by something. */
const isUri = (text: string): boolean =>
  !/[\s\p{Cc}]/u.test(text) && (text.startsWith("/") || /^[a-z][a-z\d+.-]*:.+/i.test(text))

const isDuration = (text: string): boolean =>
  /^[+-]?(?:0|(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h)(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))*)$/.test(
    text,
  ) || /\d+\s*(?:ns|nano|us|µs|micro|ms|milli|s|sec|m|min|h|hr|hour|d|day|w|week|wk)s?\b/i.test(text)

const checks: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ["date-time", isDateTime],
  ["datetime", isDateTime],
  ["date", isDate],
  ["duration", isDuration],
  ["ipv4", isIPv4],
  ["ipv6", isIPv6],
  ["cidr", isCidr],
  ["mac", (text) => /^[0-9a-f]{2}(?:([:-])[0-9a-f]{2})(?:\1[0-9a-f]{2}){4}(?:(?:\1[0-9a-f]{2}){2})?$/i.test(text)],
  ["hostname", isHostname],
  ["email", (text) => /^[^\s@]+@[^\s@]+$/.test(text) || /<[^\s@]+@[^\s@]+>$/.test(text)],
  ["uri", isUri],
  ["uuid", (text) => uuid(`${hex}{4}`, `${hex}{4}`).test(text)],
  ["uuid3", (text) => uuid(`3${hex}{3}`, `${hex}{4}`).test(text)],
  ["uuid4", (text) => uuid(`4${hex}{3}`, `[89ab]${hex}{3}`).test(text)],
  ["uuid5", (text) => uuid(`5${hex}{3}`, `[89ab]${hex}{3}`).test(text)],
  ["byte", isBase64],
])

/** Names of the formats that {@link isOfFormat} checks. */
export const knownFormats: ReadonlySet<string> = new Set(checks.keys())

/** Whether a text has a format; true for unknown formats. */
export const isOfFormat = (format: string, text: string): boolean => checks.get(format)?.(text) ?? true
