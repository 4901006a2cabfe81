/**
 * The object stores that a recorder may write to. The recorder writes with its own credentials, so without a list anyone who may request an
 * export could choose where a cluster's objects go. Nothing is allowed unless the operator lists it; a file that the client writes itself
 * needs no permission.
 *
 * An entry is a prefix of an address. Addresses are compared, never their text: `s3://traces/team-a` covers the object of that name and
 * everything below it, but not `s3://traces/team-abc`; `s3://traces` covers the bucket, `s3://` every bucket. If a URL names its store by
 * host (`https://…`), only an entry that names the same host covers it: the environment may point `s3://` elsewhere.
 */
import { type Provider, providers, readStoreUrl, type StoreAddress } from "./target-address.ts"

/** One parsed entry of an allow-list. */
export interface AllowedPlace {
  readonly provider: Provider
  readonly host: string | undefined
  /** `undefined`: every bucket. */
  readonly bucket: string | undefined
  /** Empty: every key; with a trailing slash: only what is below. */
  readonly key: string
}

/** An allow-list, or the problem with each entry that cannot be read. */
export type AllowListReading =
  | { readonly tag: "allow-list"; readonly places: ReadonlyArray<AllowedPlace> }
  | { readonly tag: "refused"; readonly faults: ReadonlyArray<string> }

/** Reads an allow-list. One bad entry rejects the whole list: a list that silently lost an entry is not what the operator wrote. */
export const readAllowList = (entries: ReadonlyArray<string>): AllowListReading => {
  const places: AllowedPlace[] = []
  const faults: string[] = []
  for (const entry of entries) {
    const place = readEntry(entry)
    if (typeof place === "string") faults.push(place)
    else places.push(place)
  }
  return faults.length > 0 ? { tag: "refused", faults } : { tag: "allow-list", places }
}

/** Whether an export may be written to this address. */
export const isAllowed = (address: StoreAddress, places: ReadonlyArray<AllowedPlace>): boolean =>
  places.some(
    ({ provider, host, bucket, key }) =>
      provider === address.provider &&
      host === address.host &&
      (bucket === undefined || bucket === address.bucket) &&
      covers(key, address.key),
  )

const covers = (place: string, key: string): boolean =>
  place === "" || key === place || key.startsWith(place.endsWith("/") ? place : `${place}/`)

const readEntry = (entry: string): AllowedPlace | string => {
  const whole = providers.find((provider) => entry.toLowerCase() === `${provider}://`)
  if (whole !== undefined) return { provider: whole, host: undefined, bucket: undefined, key: "" }
  if (entry.includes("*")) return `"${entry}" contains a *; an entry covers everything below it without a wildcard`
  const reading = readStoreUrl(entry)
  if (reading.tag === "refused") return reading.message
  if (reading.tag === "answer") return `"${entry}" is not an object store; files need no entry`
  const { provider, host, bucket, key } = reading.address
  if (key.split("/").some((segment, index, all) => ["", ".", ".."].includes(segment) && index < all.length - 1))
    return `"${entry}" has an empty segment, . or ..`
  return { provider, host, bucket, key }
}
