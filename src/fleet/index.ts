/**
 * Streams: the recordings of clusters in object storage, as numbered segments.
 *
 * Guarantee: the segments of a stream, applied in order, are one recording, whoever wrote each of them; two recorders never both add the same number.
 */

export {
  afterEvent,
  type ChainLink,
  commandOf,
  describeFenced,
  type Fenced,
  type FenceEvent,
  type FenceState,
  nextNumber,
  openFence,
  type Shipment,
  type Tenure,
} from "./fence/fence.ts"
export { type FoundDirectory, type FoundStream, newTenure, type Start, startOf } from "./fence/take-over.ts"
