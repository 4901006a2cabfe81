/** What a recorder that starts does about the stream that it is to write: pure. */

import type { ChainLink, Shipment, Tenure } from "./tenure.ts"

/** A stream as it is found. */
interface FoundStream {
  /** Its identity, made with it. */
  readonly id: string
  /** UID of the namespace kube-system of the cluster that it is of. */
  readonly clusterUid: string
  /** The segment with the greatest number; `undefined`: it has none. */
  readonly last: ChainLink | undefined
}

/** A data directory as it is found. */
interface FoundDirectory {
  /** The same of the cluster that is to be recorded. */
  readonly clusterUid: string
  readonly tenure: Tenure | undefined
}

type Start =
  /** The stream is empty: the whole recording is shipped from its beginning. */
  | { readonly tag: "begin" }
  /** The stream ends with what this directory shipped, or was to ship. */
  | { readonly tag: "continue"; readonly tenure: Tenure }
  /** The stream has what this directory lacks: it is restored, and continued in the next epoch. */
  | { readonly tag: "restore"; readonly last: ChainLink }
  | { readonly tag: "refuse"; readonly reason: string }

/** Pure. Decides by identities and hashes alone. */
export const startOf = (stream: FoundStream, { clusterUid, tenure }: FoundDirectory): Start => {
  if (stream.clusterUid !== clusterUid)
    return {
      tag: "refuse",
      reason: `the stream is of another cluster (kube-system has UID ${stream.clusterUid} there, and ${clusterUid} here); give each cluster a prefix of its own`,
    }
  const own = tenure?.stream === stream.id ? tenure : undefined
  const { last } = stream
  if (own?.shipped !== undefined && own.shipped.number > (last?.number ?? 0))
    return {
      tag: "refuse",
      reason: `the stream ends with segment ${last?.number ?? 0}, and this directory has shipped ${own.shipped.number}: objects were removed. Bring them back, or choose another prefix`,
    }
  if (last === undefined) return own === undefined ? { tag: "begin" } : { tag: "continue", tenure: own }
  if (own !== undefined && endsWith(own, last)) return { tag: "continue", tenure: own }
  return { tag: "restore", last }
}

const endsWith = ({ shipped, intents }: Tenure, { number, sha256 }: ChainLink): boolean =>
  shipped?.sha256 === sha256 ||
  (number === (shipped?.number ?? 0) + 1 && intents.some((each) => each.sha256 === sha256))

/**
 * The tenure of a recorder in an empty stream, or in one that it has restored. `restored`: the last segment, with the position of the last whole one: parts of
 * another epoch that no whole one follows count no more. `owner`: 128 random bits, hexadecimal.
 */
export const newTenure = (stream: string, owner: string, restored?: Shipment): Tenure => ({
  stream,
  owner,
  epoch: (restored?.epoch ?? 0) + 1,
  ...(restored !== undefined && { shipped: restored }),
  intents: [],
})
