/** What frames say of how far a kind is recorded: of all of it (whole-progress.ts), or of each namespace (namespace-progress.ts). */
import type { ObservationsBuilder } from "../../../wire/observations.ts"

export interface FrameProgress {
  /** Bytes to be kept free for it in each frame. */
  readonly roomBytes: number
  /** Whether {@link newsBytes} is worth asking for. */
  readonly mayHaveNews: boolean
  /** Bytes that what is new takes in a frame; 0: nothing is. */
  newsBytes(nowMicros: number): number
  /** Writes it into the frame, after everything that it speaks of. False, with nothing written, if there is no room. */
  write(builder: Pick<ObservationsBuilder, "completeThrough" | "namespaces">, nowMicros: number): boolean
}
