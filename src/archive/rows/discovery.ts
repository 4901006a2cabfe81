/** What the API server's discovery said of the recorded kinds: so that a recording can be asked, and served, by the names that people use. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { DiscoveredKind } from "../../wire/index.ts"

/** Key of a recording's metadata: what the API server's discovery said of the recorded kinds, as JSON. */
export const discoveryKey = "discovery"

const Discovered = Schema.fromJsonString(Schema.Array(DiscoveredKind))

/** The text of the metadata with one kind added, or replaced. */
export const withDiscovered = (text: string | undefined, kind: DiscoveredKind): string => {
  const others = decodeDiscovery(text).filter(({ gvk }) => gvk !== kind.gvk)
  return Schema.encodeSync(Discovered)([...others, kind])
}

/** None for a recording without, or of another version. */
export const decodeDiscovery = (text: string | undefined): ReadonlyArray<DiscoveredKind> => {
  const reading = Schema.decodeUnknownResult(Discovered)(text ?? "[]")
  return Result.isSuccess(reading) ? reading.success : []
}
