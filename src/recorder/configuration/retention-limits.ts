/** How long and how much is kept, as people write it: `30d`, `20Gi`; in the configuration file and on the command line. */
import type { RetentionSettings } from "../../actors/index.ts"
import type { RecorderConfiguration } from "./tracked-kind.ts"

/** Limits of a kind, or of all. Absent: none. */
export interface KeptLimits {
  /** µs for which what was recorded is kept. */
  readonly retainFor?: number
  /** Bytes on disk. */
  readonly retainBytes?: number
}

/** The limits of the command line, which take precedence over those of the file. */
export interface GivenLimits extends KeptLimits {
  readonly kinds: ReadonlyMap<string, KeptLimits>
}

const minute = 60_000_000

/** Shorter times would remove what is being exported as fast as it is recorded. */
const shortest = 10 * minute

/** The log alone takes up to 16 MiB while it is read, and a block 1 MiB. */
const smallest = 64 * 1024 * 1024

/** A kind alone has no log. */
const smallestOfKind = 1024 * 1024

const unitMicros: Readonly<Record<string, number>> = { m: minute, h: 60 * minute, d: 1440 * minute, w: 10_080 * minute }

/** `30d`, `12h` or `2w` in µs, or why it is not a time for which something can be kept. */
export const readRetainFor = (text: string): number | { readonly problem: string } => {
  const [, amount, unit = ""] = /^(\d{1,6})([mhdw])$/.exec(text) ?? []
  const micros = Number(amount) * (unitMicros[unit] ?? Number.NaN)
  if (Number.isNaN(micros)) return { problem: "it must be a duration such as 12h, 30d or 8w" }
  return micros < shortest ? { problem: "it must be at least 10m" } : micros
}

/** `20Gi` or `500M` in bytes, or why it is not a size that something can be kept in. */
export const readRetainBytes = (text: string, isOfKind: boolean): number | { readonly problem: string } => {
  const [, amount, unit = "", binary] = /^([1-9]\d{0,8})([KMGT])(i?)$/.exec(text) ?? []
  if (amount === undefined) return { problem: "it must be a size such as 500Mi or 20Gi" }
  const bytes = Number(amount) * (binary === "i" ? 1024 : 1000) ** ("KMGT".indexOf(unit) + 1)
  if (bytes >= (isOfKind ? smallestOfKind : smallest)) return bytes
  return { problem: `it must be at least ${isOfKind ? "1Mi" : "64Mi"}` }
}

/** The limits in the form in which the store takes them. */
export const retentionSettings = (
  { kinds, every, retainFor, retainBytes }: RecorderConfiguration,
  given: GivenLimits | undefined,
): RetentionSettings => {
  const ofKinds = new Map<string, KeptLimits>(
    kinds.map(({ gvkText, retainFor, retainBytes }) => [gvkText, limits(retainFor, retainBytes)]),
  )
  const each = limits(every?.retainFor, every?.retainBytes)
  const hasEach = Object.keys(each).length > 0
  for (const [gvk, own] of given?.kinds ?? []) ofKinds.set(gvk, { ...(ofKinds.get(gvk) ?? each), ...own })
  const named = [...ofKinds].map(([gvk, own]) => ({ gvk, ...plain(own) }))
  return {
    ...plain(limits(given?.retainFor ?? retainFor, given?.retainBytes ?? retainBytes)),
    // A kind that is named without limits has none of those of "*".
    kinds: hasEach ? named : named.filter((own) => Object.keys(own).length > 1),
    ...(hasEach && { each: plain(each) }),
  }
}

const limits = (retainFor: number | undefined, retainBytes: number | undefined): KeptLimits => ({
  ...(retainFor !== undefined && { retainFor }),
  ...(retainBytes !== undefined && { retainBytes }),
})

const plain = ({ retainFor, retainBytes }: KeptLimits) => ({
  ...(retainFor !== undefined && { forMicros: retainFor }),
  ...(retainBytes !== undefined && { bytes: retainBytes }),
})
