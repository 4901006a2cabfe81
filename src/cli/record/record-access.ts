/** Options of `reel record` that control access to it: who may export, to which destinations, and how much. */

import { type AllowedPlace, readAllowList } from "../../blob/index.ts"
import type { AccessSettings, CertificateFiles, ExportLimits } from "../../recorder/index.ts"
import {
  flag,
  list,
  type OptionValues,
  oneOf,
  optional,
  parseSize,
  type Reading,
  refused,
  repeated,
  value,
  withDefault,
} from "../command-line/arguments.ts"
import { parseDuration } from "../command-line/instant.ts"

const parseTarget = (given: string): Reading<AllowedPlace> => {
  const reading = readAllowList([given])
  const place = reading.tag === "allow-list" ? reading.places[0] : undefined
  if (place !== undefined) return value(place)
  return refused(reading.tag === "refused" ? reading.faults.join("; ") : "it names no location")
}

const parseHostName = (given: string): Reading<string> =>
  /^[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,252})$/.test(given)
    ? value(given)
    : refused("must be a host name without a port, such as recorder.example.com")

/** ms. */
const parseTime = (given: string): Reading<number> => {
  const duration = parseDuration(given)
  return duration === undefined || duration < 1_000_000
    ? refused("must be a duration of at least one second, such as 90s, 10m or 1h")
    : value(duration / 1000)
}

/** bytes; `none` means no limit. */
const parseLimit = (given: string): Reading<number> =>
  given === "none" ? value(Number.POSITIVE_INFINITY) : parseSize(given)

export const accessOptions = {
  auth: withDefault(
    "none",
    "HOW",
    "who may export and see what is recorded. none: anyone who can reach the address; token: anyone with one of the tokens in --token-file; kubernetes: users who may create exports.kubereel.dev, and others see the past of what they may read",
    oneOf("none", "token", "kubernetes"),
  ),
  tokenFile: optional(
    "FILE",
    "for --auth token: file with one token per line, each of at least 16 characters; read again for each request",
  ),
  auditTokenFile: optional(
    "FILE",
    "take audit events at /v1/audit, so that changes name their users: file with the tokens of API servers, one per line, read again for each request",
  ),
  tlsCert: optional(
    "FILE",
    "serve over HTTPS with the certificate in FILE, in PEM, followed by those of intermediate authorities; a replaced file is used within seconds",
  ),
  tlsKey: optional("FILE", "for --tls-cert: file with its private key, in PEM"),
  allowAnonymous: flag({ help: "allow --auth none on an address that other machines can reach" }),
  allowHost: list(
    "NAME",
    "for --auth none: a host name that clients may use, besides localhost and IP addresses, such as that of a proxy",
    parseHostName,
  ),
  allowTarget: repeated(
    "PREFIX",
    "object store location that requests may have traces written to, such as s3://traces/team-a; default: none",
    parseTarget,
  ),
  maximumExportTime: withDefault(
    "1h",
    "DURATION",
    "abort an export after this long; a request may set a lower limit",
    parseTime,
  ),
  maximumExportSize: withDefault(
    "none",
    "SIZE",
    "abort an export that grows larger than this, such as 10Gi; a request may set a lower limit",
    parseLimit,
  ),
}

/** The options as settings of the recorder. */
export interface RecordAccess {
  readonly access: AccessSettings
  readonly allowedTargets: ReadonlyArray<AllowedPlace>
  readonly exportLimits: ExportLimits
  /** Absent: plain HTTP. */
  readonly tls?: CertificateFiles
}

type Given = OptionValues<typeof accessOptions>

/** The settings, or the problem with the combination of options. */
export const readAccess = (given: Given): RecordAccess | string => {
  const access = accessOf(given)
  if (typeof access === "string") return access
  const { tlsCert, tlsKey } = given
  if ((tlsCert === undefined) !== (tlsKey === undefined))
    return tlsKey === undefined ? "--tls-cert requires --tls-key FILE" : "--tls-key requires --tls-cert FILE"
  const exportLimits = { milliseconds: given.maximumExportTime, bytes: given.maximumExportSize }
  const tls = tlsCert !== undefined && tlsKey !== undefined && { tls: { certificate: tlsCert, key: tlsKey } }
  return { access, allowedTargets: given.allowTarget, exportLimits, ...tls }
}

const accessOf = ({ auth, tokenFile, allowAnonymous, allowHost }: Given): AccessSettings | string => {
  if (auth !== "none" && allowAnonymous) return `--allow-anonymous cannot be combined with --auth ${auth}`
  if (auth !== "none" && allowHost.length > 0) return `--allow-host is for --auth none, not for --auth ${auth}`
  if (auth !== "token" && tokenFile !== undefined) return `--token-file is for --auth token, not for --auth ${auth}`
  if (auth === "none") return { auth, allowAnonymous, ...(allowHost.length > 0 && { allowedHosts: allowHost }) }
  if (auth === "kubernetes") return { auth }
  return tokenFile === undefined ? "--auth token requires --token-file FILE" : { auth, tokenFile }
}
