/**
 * Which object stores a recorder may be told to write to. The recorder writes with its own credentials, so whoever may ask for an
 * export would otherwise choose where a cluster's objects go. Nothing is allowed unless the operator says so; what the client
 * itself puts away (a file) needs no permission.
 *
 * An entry is the beginning of an address, compared as address, never as text: `s3://traces/team-a` covers the object of that
 * name and everything below it, not `s3://traces/team-abc`. `s3://traces` covers the bucket, `s3://` every bucket. A store that
 * a URL names itself (`https://…`) is covered only by an entry that names it likewise: the environment may have pointed `s3://`
 * elsewhere.
 */
import { type Provider, providers, readStoreUrl, type StoreAddress } from "./target-address.ts"

/** One entry of an allow-list, read. */
export interface AllowedPlace {
  readonly provider: Provider
  readonly host: string | undefined
  /** `undefined`: every bucket. */
  readonly bucket: string | undefined
  /** Empty: every key; with a slash at its end only what is below. */
  readonly key: string
}

/** An allow-list, or what is wrong with each entry that cannot be read. */
export type AllowListReading =
  | { readonly tag: "allow-list"; readonly places: ReadonlyArray<AllowedPlace> }
  | { readonly tag: "refused"; readonly faults: ReadonlyArray<string> }

/** Reads an allow-list; one bad entry refuses all, because a list that silently lost one is not the operator's. */
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

/** Whether an export may be written there. */
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
