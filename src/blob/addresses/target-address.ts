/**
 * The destination that an export's path names: a place that the client fills from the response, or an object that the recorder writes.
 *
 * The forms are SimKube's (docs/facts/simkube.md#storage-addresses), so that its driver accepts the same URL. An
 * address is canonical: decisions about one (the allow-list) use bucket and key as they will be sent, never the text.
 * `.` and `..` are resolved as in any URL; credentials, queries, ports, empty segments, and dot segments that only
 * decoding reveals (`%2F..%2F`) are rejected.
 */
import { join, resolve } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"

/** Supported object stores, named after their URL schemes. */
export const providers = ["s3", "gs", "azure"] as const

export type Provider = (typeof providers)[number]

/** An object in a store. */
export interface StoreAddress {
  readonly provider: Provider
  /**
   * The host, if the URL names the store by host: `amazonaws.com` or `amazonaws.com.cn` (buckets are global there), an R2 host, or
   * `ACCOUNT.blob.core.windows.net`. `undefined`: the environment decides.
   */
  readonly host: string | undefined
  /** S3 only, if the URL names one. */
  readonly region: string | undefined
  /** Bucket, or Azure's container. */
  readonly bucket: string
  /** Decoded, without a leading slash, at most 1024 bytes of UTF-8. */
  readonly key: string
}

/** A prefix in an object store (`key`, without a slash at its end; empty: the whole bucket), or a directory, whose path is its `bucket`. */
export interface StorePlace extends Omit<StoreAddress, "provider"> {
  readonly provider: Provider | "file"
}

/** The destination that a path names, or why it names none. */
type PathReading =
  /** A file path, `file:`, `memory:`, or a web address that is not a store: the export is the response, as in SimKube's tracer. */
  { readonly tag: "answer" } | { readonly tag: "store"; readonly address: StoreAddress } | Refusal

interface Refusal {
  readonly tag: "refused"
  readonly message: string
  /** The path without secrets, and the reason: what the message consists of. */
  readonly path: string
  readonly reason: string
}

/** Reads the path of an export. Never throws. */
export const readTargetPath = (path: string): PathReading => {
  const reading = readStoreUrl(path)
  if (reading.tag !== "store") return reading
  const fault = keyFault(reading.address.key)
  return fault === undefined ? reading : refused(path, fault)
}

/**
 * Reads the path of a trace that exists. As {@link readTargetPath}, and `az://CONTAINER/KEY` is
 * `azure://CONTAINER/KEY`: a wrong guess only finds no object, whereas an export would go to an unexpected place.
 */
export const readSourcePath = (path: string): PathReading => readTargetPath(path.replace(/^az:\/\//i, "azure://"))

/** Like {@link readTargetPath}, but the key may be anything, even empty: used for prefixes of addresses. */
export const readStoreUrl = (path: string): PathReading => {
  // URL parsers drop tabs and line feeds silently.
  if (/\p{Cc}/u.test(path)) return refused(path, "it has control characters")
  const scheme = /^([a-z][a-z0-9+.-]+):\//i.exec(path)?.[1]?.toLowerCase()
  if (scheme === undefined || ["file", "memory", "http"].includes(scheme)) return { tag: "answer" }
  const url = URL.parse(path)
  if (url === null) return refused(path, "it is not a URL")
  try {
    return readPlace(path, url, placeOf(scheme, url))
  } catch {
    return refused(path, "it contains a % that does not start an encoded UTF-8 character")
  }
}

/** Reads the address of a store of many objects: a bucket or a prefix of one, `file:`, or the path of a directory. Never throws. */
export const readStorePlace = (path: string): { readonly tag: "place"; readonly place: StorePlace } | Refusal => {
  const reading = readStoreUrl(path)
  if (reading.tag === "refused") return reading
  if (reading.tag === "answer") {
    if (/^(?!file:)[a-z][a-z0-9+.-]+:/i.test(path))
      return refused(path, "it is neither an object store nor a directory")
    const url = /^file:/i.test(path) ? URL.parse(path) : undefined
    if (url === null || (url !== undefined && url.host !== "")) return refused(path, "it is not the URL of a directory")
    const bucket = resolve(url === undefined ? path : fileURLToPath(url))
    return { tag: "place", place: { provider: "file", host: undefined, region: undefined, bucket, key: "" } }
  }
  const key = reading.address.key.replace(/\/$/, "")
  const fault = key === "" ? undefined : keyFault(key)
  return fault === undefined ? { tag: "place", place: { ...reading.address, key } } : refused(path, fault)
}

/** Throws a URIError for a `%` that starts no encoded character. */
const readPlace = (path: string, url: URL, place: Place | string | undefined): PathReading => {
  if (place === undefined) return { tag: "answer" }
  if (typeof place === "string") return refused(path, place)
  if (url.search !== "" || url.hash !== "")
    return refused(
      path,
      "it has a query or a fragment; write ? as %3F, # as %23, and keep credentials in the environment",
    )
  if (url.password !== "" || (url.username !== "" && !url.protocol.startsWith("abfs")))
    return refused(path, "credentials are taken from the environment, not from the URL")
  if (url.port !== "") return refused(path, "it has a port; endpoints are taken from the environment")
  const { provider, host, region, bucket } = place
  if (!/^\$?[a-z0-9][a-z0-9._-]{1,221}$/i.test(bucket)) return refused(path, `"${bucket}" cannot name a bucket`)
  return { tag: "store", address: { provider, host, region, bucket, key: decodeURIComponent(place.path) } }
}

/** The address as a URL that {@link readTargetPath} or {@link readStorePlace} reads as the same address. */
export const addressUrl = ({ provider, host, region, bucket, key }: StorePlace): string => {
  if (provider === "file") return pathToFileURL(join(bucket, key)).href
  const path = `${bucket}/${key.toWellFormed().split("/").map(encodeURIComponent).join("/")}`
  if (host === undefined) return `${provider}://${path}`
  return `https://${host.startsWith("amazonaws.") ? `s3.${region === undefined ? "" : `${region}.`}` : ""}${host}/${path}`
}

/** The store of a URL and the rest of its path, still encoded. */
interface Place extends Omit<StoreAddress, "key"> {
  readonly path: string
}

/** Schemes that name a bucket where other URLs name a host. */
const schemes: Readonly<Record<Provider, RegExp>> = { s3: /^s3a?$/, gs: /^gs$/, azure: /^(azure|adl|abfss?)$/ }

/** `undefined`: not a store. A string: why it is rejected. */
const placeOf = (scheme: string, url: URL): Place | string | undefined => {
  const path = url.pathname.replace(/^\//, "")
  if (scheme === "https") return atWebAddress(url.hostname, path)
  // SimKube's reader drops the first segment of the key; other tools do not.
  if (scheme === "az") return "tools disagree on the meaning of az://; write azure://CONTAINER/KEY"
  const provider = providers.find((each) => schemes[each].test(scheme))
  if (provider === undefined) return `the scheme ${scheme}: is not supported; use a path, file:, s3:, gs: or azure:`
  if (!scheme.startsWith("abfs") || url.username === "")
    return { provider, host: undefined, region: undefined, bucket: url.hostname, path }
  const place = inAzure(url.hostname, decodeURIComponent(url.username), path)
  return place ?? "after the @ it needs ACCOUNT.dfs.core.windows.net"
}

const atWebAddress = (host: string, path: string): Place | string | undefined => {
  const slash = path.indexOf("/")
  const [first, rest] = slash < 0 ? [path, ""] : [path.slice(0, slash), path.slice(slash + 1)]
  const amazon =
    /^(?:(?<bucket>.+)\.)?s3(?:[.-](?:dualstack\.)?(?<region>[a-z]{2}(?:-[a-z]+)+-\d+))?\.(?<site>amazonaws\.com(?:\.cn)?)$/
  const { bucket, region, site } = amazon.exec(host)?.groups ?? {}
  if (site !== undefined) {
    const place = { provider: "s3" as const, host: site, region }
    return bucket === undefined ? { ...place, bucket: first, path: rest } : { ...place, bucket, path }
  }
  if (/\.amazonaws\.com(\.cn)?$/.test(host)) return "it is not an S3 address; write s3://BUCKET/KEY"
  if (host.endsWith(".r2.cloudflarestorage.com"))
    return { provider: "s3", host, region: "auto", bucket: first, path: rest }
  if (/\.(blob|dfs)\.fabric\.microsoft\.com$/.test(host)) return "OneLake is not supported"
  return inAzure(host, first, rest)
}

const inAzure = (host: string, container: string, path: string): Place | undefined => {
  const account = /^([a-z0-9]{3,24})\.(?:blob|dfs)\.core\.windows\.net$/.exec(host)?.[1]
  if (account === undefined) return undefined
  return { provider: "azure", host: `${account}.blob.core.windows.net`, region: undefined, bucket: container, path }
}

/** Bytes of UTF-8 that all three stores allow. */
const longestKey = 1024

/** Why a key cannot be one; `undefined`: it can. */
export const keyFault = (key: string): string | undefined => {
  if (key === "") return "it names no object in the bucket"
  if (key.endsWith("/")) return "it ends with a slash, so it names a folder; add a file name"
  if (/\p{Cc}/u.test(key) || !key.isWellFormed()) return "its key has control characters or half of a surrogate pair"
  if (Buffer.byteLength(key) > longestKey) return `its key is longer than ${longestKey} bytes`
  if (key.split("/").some((segment) => ["", ".", ".."].includes(segment)))
    return "its key has an empty segment, . or .."
  return undefined
}

const refused = (given: string, reason: string): Refusal => {
  // A URL with credentials in it must not appear in a response or a log. They may have any character, so all before the
  // last @ is hidden, and what follows it as well if it may be the rest of a query.
  const hidden = given.replace(/^([^:/?]*:)[/\\]*.*\?.*@.*$/su, "$1//…").replace(/^([^:/?]*:)[/\\]*.*@/su, "$1//…@")
  const path = JSON.stringify(shortened(hidden.replace(/\?.*$/su, "?…")))
  return { tag: "refused", message: `cannot write to ${path}: ${reason}`, path, reason }
}

const shortened = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text)
