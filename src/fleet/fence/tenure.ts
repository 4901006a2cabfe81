/** What a recording keeps of its place in a stream, plain data that is sent between threads and kept as JSON; and what a recorder that starts does about a stream. */
import * as Schema from "effect/Schema"
import { SegmentFacts } from "../segment/segment-facts.ts"

/** A segment of a stream, as far as its successor depends on it. */
export const ChainLink = Schema.Struct({
  number: Schema.Number,
  epoch: Schema.Number,
  /** Of the tenure that wrote it. */
  owner: Schema.String,
  /** Identifies the segment. */
  sha256: Schema.String,
})
export type ChainLink = typeof ChainLink.Type

/** A segment with up to where it takes the recording that it was made of. */
export const Shipment = Schema.Struct({
  ...ChainLink.fields,
  /** False: it is a part, which counts only with the segments of its epoch up to the next whole one. */
  isWhole: Schema.Boolean,
  /** Where the next segment begins. */
  position: SegmentFacts.fields.position,
  /** Retention and merging leave blocks alone that end after this sequence number: with the whole segments up to this one, the stream has the others for good. */
  heldAfter: Schema.Number,
})
export type Shipment = typeof Shipment.Type

/** What a recording knows of its place in a stream; kept in it, and changed by nobody else. */
export const Tenure = Schema.Struct({
  /** Of the stream: a directory is at home in one. */
  stream: Schema.String,
  /** 128 random bits, hexadecimal. */
  owner: Schema.String,
  epoch: Schema.Number,
  /** The last segment that is certain; absent: the stream is empty. */
  shipped: Schema.optional(Shipment),
  /** What was built for the next number, and may have been created: the last one, and those of lives before. */
  intents: Schema.Array(Shipment),
})
export type Tenure = typeof Tenure.Type

const TenureText = Schema.fromJsonString(Tenure)

/** As it is kept in a recording. */
export const encodeTenure = Schema.encodeSync(TenureText)

/** `undefined`: there is none. @throws SchemaError for another text */
export const decodeTenure = (text: string): Tenure | undefined =>
  text === "" ? undefined : Schema.decodeSync(TenureText)(text)

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
