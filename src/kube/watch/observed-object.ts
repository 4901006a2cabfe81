/**
 * One object on its way from the reader of a stream to whoever records it. Each reader has one such record and fills it in anew for
 * every object, so that the way of an event takes neither a long list of arguments nor an allocation.
 */
import type { ResourceVersion } from "../resource-version.ts"
import type { ScannedObject } from "../scanner/object/scanned-object.ts"

/** 1: added or modified. 2: deleted, with the last state. The same codes as the action column of a frame. */
type ObservedAction = 1 | 2

const noBytes = Buffer.alloc(0)

/** An object as the server sent it: `bytes[start, end)`. All of it is valid only during the call that it is passed to. */
export class ObservedObject {
  action: ObservedAction = 1
  /** Objects of a list come in no order and may be known already; all others come in the order of their versions. */
  fromList = false
  /** A string if it is not an integer. */
  version: ResourceVersion | string = 0
  bytes: Buffer = noBytes
  start = 0
  end = 0
  /** Its positions are positions in `bytes`, not all of them within [start, end). */
  readonly scanned: ScannedObject

  constructor(scanned: ScannedObject) {
    this.scanned = scanned
  }
}
