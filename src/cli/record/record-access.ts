/** Options of `reel record` about who may take what out of it, and how much. */

import { type AllowedPlace, readAllowList } from "../../blob/allow-list.ts"
import type { AccessSettings } from "../../recorder/access/open-access.ts"
import type { ExportLimits } from "../../recorder/export/limits.ts"
import {
  flag,
  list,
  type OptionValues,
  oneOf,
  optional,
  type Reading,
  refused,
  text,
  value,
  withDefault,
} from "../command-line/arguments.ts"
import { parseDuration } from "../command-line/instant.ts"
import { parseSize } from "../command-line/size.ts"

const parseTarget = (given: string): Reading<AllowedPlace> => {
  const reading = readAllowList([given])
  const place = reading.tag === "allow-list" ? reading.places[0] : undefined
  if (place !== undefined) return value(place)
  return refused(reading.tag === "refused" ? reading.faults.join("; ") : "it names no place")
}

const parseHostName = (given: string): Reading<string> =>
  /^[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,252})$/.test(given)
    ? value(given)
    : refused("it must be a host name without a port, such as recorder.example.com")

/** ms. */
const parseTime = (given: string): Reading<number> => {
  const duration = parseDuration(given)
  return duration === undefined || duration < 1_000_000
    ? refused("it must be a duration of at least a second, such as 90s, 10m or 1h")
    : value(duration / 1000)
}

/** bytes; `none` is any number of them. */
const parseLimit = (given: string): Reading<number> =>
  given === "none" ? value(Number.POSITIVE_INFINITY) : parseSize(given)

export const accessOptions = {
  auth: withDefault("none", {
    placeholder: "HOW",
    help: "who may export, and read metrics and coverage: whoever reaches the address (none), has a token of --token-file (token), or may create exports.kubereel.dev (kubernetes)",
    parse: oneOf("none", "token", "kubernetes"),
  }),
  tokenFile: optional({
    placeholder: "FILE",
    help: "for --auth token: one token per line; read again for each request",
    parse: text,
  }),
  allowAnonymous: flag({ help: "permit --auth none on an address that others can reach" }),
  allowHost: list({
    placeholder: "NAME",
    help: "for --auth none: a name by which clients may reach it, besides localhost and addresses, such as that of a proxy",
    parse: parseHostName,
    split: true,
  }),
  allowTarget: list({
    placeholder: "PREFIX",
    help: "where in object stores traces may be written if a request says so, such as s3://traces/team-a; default: nowhere",
    parse: parseTarget,
    split: false,
  }),
  maximumExportTime: withDefault("1h", {
    placeholder: "DURATION",
    help: "give an export up after so long; a request may ask for less",
    parse: parseTime,
  }),
  maximumExportSize: withDefault("none", {
    placeholder: "SIZE",
    help: "give an export up when it is larger, such as 10Gi; a request may ask for less",
    parse: parseLimit,
  }),
}

/** What the options mean for the recorder. */
export interface RecordAccess {
  readonly access: AccessSettings
  readonly allowedTargets: ReadonlyArray<AllowedPlace>
  readonly exportLimits: ExportLimits
}

type Given = OptionValues<typeof accessOptions>

/** The settings, or what is wrong with the options together. */
export const readAccess = (given: Given): RecordAccess | string => {
  const access = accessOf(given)
  if (typeof access === "string") return access
  const exportLimits = { milliseconds: given.maximumExportTime, bytes: given.maximumExportSize }
  return { access, allowedTargets: given.allowTarget, exportLimits }
}

const accessOf = ({ auth, tokenFile, allowAnonymous, allowHost }: Given): AccessSettings | string => {
  if (auth !== "none" && allowAnonymous) return `--allow-anonymous has no place beside --auth ${auth}`
  if (auth !== "none" && allowHost.length > 0) return `--allow-host is for --auth none, not for --auth ${auth}`
  if (auth !== "token" && tokenFile !== undefined) return `--token-file is for --auth token, not for --auth ${auth}`
  if (auth === "none") return { auth, allowAnonymous, ...(allowHost.length > 0 && { allowedHosts: allowHost }) }
  if (auth === "kubernetes") return { auth }
  return tokenFile === undefined ? "--auth token needs --token-file FILE" : { auth, tokenFile }
}
