/**
 * How frames state the progress of a kind's recording: of the whole kind (whole-progress.ts), or of each namespace (namespace-progress.ts).
 */
import type { ObservationsBuilder } from "../../../wire/observations.ts"

export interface FrameProgress {
  /** Bytes to keep free for progress in each frame. */
  readonly roomBytes: number
  /** Whether {@link newsBytes} needs to be called. */
  readonly mayHaveNews: boolean
  /** Bytes that the news take in a frame; 0: there is none. */
  newsBytes(nowMicros: number): number
  /** Writes the progress into the frame, after everything that it covers. Returns false and writes nothing if there is no room. */
  write(builder: Pick<ObservationsBuilder, "completeThrough" | "namespaces">, nowMicros: number): boolean
}
