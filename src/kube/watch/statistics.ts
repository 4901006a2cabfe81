/** Counters of one watch session since it started; plain numbers, read by metrics. */
export interface WatchStatistics {
  /** Objects passed to the recorder, from lists and watches. */
  objects: number
  /** Events dropped because their version was delivered before (overlap, resume). */
  repeated: number
  /** Lines that the fast scanner passed to the slow path. */
  slowLines: number
  malformedLines: number
  /** Lists started after the first. */
  relists: number
  /** Watches opened, successors included. */
  watches: number
  /** Watches that ended other than the server ends them: cut, or silent for too long. */
  cuts: number
  bookmarks: number
  /** Body bytes read. */
  bytes: number
  /** ms by which the server's clock (`Date` header, whole seconds) was ahead of ours at the last response. */
  clockSkewMs: number
}

export const noStatistics = (): WatchStatistics => ({
  objects: 0,
  repeated: 0,
  slowLines: 0,
  malformedLines: 0,
  relists: 0,
  watches: 0,
  cuts: 0,
  bookmarks: 0,
  bytes: 0,
  clockSkewMs: 0,
})
