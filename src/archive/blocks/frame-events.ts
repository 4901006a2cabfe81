/** What readers ask the events of a frame, however they are stored. Indexes run from 0 to `count`−1 and are not checked. */
import type { NewObject, Observations } from "../../wire/observations.ts"

export interface FrameEvents
  extends Pick<
    Observations,
    | "gvk"
    | "epoch"
    | "count"
    | "hasOpaqueVersions"
    | "action"
    | "objectNumber"
    | "length"
    | "time"
    | "received"
    | "lateness"
    | "versionLow"
    | "versionHigh"
    | "resourceVersion"
    | "resourceVersionText"
    | "fingerprintLow"
    | "fingerprintHigh"
  > {}

/** Those of a frame as it arrived. */
export interface ArrivedEvents extends FrameEvents {
  readonly payloadLength: number
  readonly columns: Uint8Array
  readonly newObjectCount: number
  newObject(index: number): NewObject
  offset(index: number): number
}
