/** One event to be written into a frame. The writer reuses one record: no object is created per event. */
import { type ActionCode, APPLIED } from "./observation-wire.ts"

const noBytes = new Uint8Array(0)

/** The object is `bytes[start, end)`, empty if it vanished. */
export class FrameEvent {
  action: ActionCode = APPLIED
  objectNumber = 0
  /** When it happened: µs since the Unix epoch. */
  timeMicros = 0
  /** When it was received, never before it happened; 0: when it happened. */
  receivedMicros = 0
  /** A string is opaque; integers are a number or a bigint below 2^64. */
  version: number | bigint | string = 0
  /** The fingerprint's two halves: 32-bit integers, signed or not. */
  fingerprintLow = 0
  fingerprintHigh = 0
  bytes: Uint8Array = noBytes
  start = 0
  end = 0
}
