/** Sends a recording to a store as a recorder's tenure does, without its fence: one segment after the other. */
import { DeltaReader, fromTheBeginning, type Position } from "../../src/archive/index.ts"
import {
  beginStream,
  type CreatingStore,
  encodeSegment,
  type StoredSegment,
  segmentKey,
} from "../../src/fleet/index.ts"

export const description = { stream: "s1", clusterUid: "cluster-1" }

export interface Tenure {
  readonly epoch: number
  readonly owner: string
  readonly last: StoredSegment | undefined
  readonly position: Position
}

export const firstTenure: Tenure = { epoch: 1, owner: "owner-1", last: undefined, position: fromTheBeginning }

/** Creates segments until a whole one is there, or as many as `most`. Returns the tenure after them. */
export const ship = async (
  store: CreatingStore,
  reader: DeltaReader,
  tenure: Tenure,
  {
    maximumBytes,
    most = Number.POSITIVE_INFINITY,
    clusterUid = description.clusterUid,
  }: { readonly maximumBytes?: number; readonly most?: number; readonly clusterUid?: string } = {},
): Promise<Tenure> => {
  // Mirrors keep ranges by the id of a stream.
  const stream = clusterUid === description.clusterUid ? description.stream : `of-${clusterUid}`
  const of = { stream, clusterUid }
  await beginStream(store, of)
  const { epoch, owner } = tenure
  let { last, position } = tenure
  for (let made = 0; made < most; made++) {
    const number = (last?.facts.number ?? 0) + 1
    const identity = { ...of, number, epoch, owner, previous: last?.sha256 ?? "" }
    const { parts, rows: _, ...segment } = encodeSegment(reader, position, identity, maximumBytes)
    if ((await store.create(segmentKey(number), parts)) !== "created") throw new Error(`segment ${number} exists`)
    last = segment
    position = segment.facts.position
    if (segment.facts.isWhole) break
  }
  return { ...tenure, last, position }
}

/** What a reader of everything in one directory sends. */
export const shipAll = async (
  store: CreatingStore,
  directory: string,
  maximumBytes?: number,
  clusterUid?: string,
): Promise<Tenure> => {
  const reader = new DeltaReader(directory)
  const limits = {
    ...(maximumBytes !== undefined && { maximumBytes }),
    ...(clusterUid !== undefined && { clusterUid }),
  }
  try {
    return await ship(store, reader, firstTenure, limits)
  } finally {
    reader.close()
  }
}
