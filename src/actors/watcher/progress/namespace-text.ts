/**
 * How far each namespace of a kind is recorded, as one line of text: where the store keeps one version for a kind that is watched
 * as a whole, it keeps this for one that is watched namespace by namespace. To the store it is opaque, like any version.
 *
 * `namespaces:shop=812,stock=790` is a kind that is complete up to these versions. A namespace that is not complete now says since
 * when, and why a list of it is due: `namespaces:shop=812@1763740000000000,stock=@1763740000500000!first`.
 *
 * `namespaces+lives:` says that the lives of pods are recorded as far as their events.
 */

/** Where the recording of one namespace stands. */
export interface NamespaceState {
  readonly namespace: string
  /** Complete up to here; the empty string before the first list. */
  readonly version: string
  /** µs since the Unix epoch at which that was so; `undefined`: whenever the text was stored. */
  readonly time: number | undefined
  /** Why a list is due before a watch can go on; the empty string: none is. */
  readonly owes: OwedReason | ""
}

const owedReasons = ["first", "expired", "overload", "stopped", "cluster-restored"] as const
export type OwedReason = (typeof owedReasons)[number]

const prefix = "namespaces:"
const livesPrefix = "namespaces+lives:"

/** Longest time and reason in {@link formatNamespaces}, and what stands between the parts of an entry. */
const entryAllowance = 1 + "=".length + 16 + 1 + "!cluster-restored".length
/** A version of the servers there are: etcd's revision has 64 bits. */
const versionAllowance = 20

/** Whether a text is one of these, and not a version of a kind that is watched as a whole. */
export const isByNamespace = (text: string): boolean => text.startsWith(prefix) || tellsOfLives(text)

/** Whether it holds for the lives of pods too. */
export const tellsOfLives = (text: string): boolean => text.startsWith(livesPrefix)

/** The same text for the same states. Names of namespaces need no escapes; opaque versions may. */
export const formatNamespaces = (states: Iterable<NamespaceState>, withLives = false): string => {
  const entries: string[] = []
  for (const { namespace, version, time, owes } of states) {
    const since = time === undefined ? "" : `@${time}`
    entries.push(`${namespace}=${escaped(version)}${since}${owes === "" ? "" : `!${owes}`}`)
  }
  return (withLives ? livesPrefix : prefix) + entries.join(",")
}

/** Characters that the text of these namespaces has at most, unless their versions are opaque and long. */
export const roomFor = (namespaces: Iterable<string>): number => {
  let room = livesPrefix.length
  for (const namespace of namespaces) room += namespace.length + versionAllowance + entryAllowance
  return room
}

const entryPattern = /^([^=@!,]+)=([^=@!,]*)(?:@(\d{1,16}))?(?:!([a-z-]+))?$/

/** `undefined` if it is no such text, or a damaged one. */
export const parseNamespaces = (text: string): ReadonlyArray<NamespaceState> | undefined => {
  if (!isByNamespace(text)) return undefined
  const states: NamespaceState[] = []
  for (const entry of text.slice(text.indexOf(":") + 1).split(",")) {
    const [, namespace, version = "", time, owes = ""] = entryPattern.exec(entry) ?? []
    const owed = owes === "" ? "" : owedReasons.find((reason) => reason === owes)
    if (namespace === undefined || owed === undefined) return undefined
    states.push({
      namespace,
      version: unescaped(version),
      time: time === undefined ? undefined : Number(time),
      owes: owed,
    })
  }
  return states
}

const digits = /^\d*$/

const escaped = (version: string): string =>
  digits.test(version) ? version : encodeURIComponent(version).replaceAll("!", "%21")

const unescaped = (version: string): string => {
  if (digits.test(version)) return version
  try {
    return decodeURIComponent(version)
  } catch {
    // Half an escape: resuming from what the server never said would be refused by it, and then it is listed.
    return version
  }
}
