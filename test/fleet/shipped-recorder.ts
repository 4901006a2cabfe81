/** A random recorder whose recording is sent at random moments. */
import fc from "fast-check"
import { DeltaReader } from "../../src/archive/index.ts"
import { restoreStream } from "../../src/fleet/index.ts"
import { type Command, ModelledRecorder } from "../archive/modelled-recorder.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { MemoryStore } from "./memory-store.ts"
import { firstTenure, ship, type Tenure } from "./shipping-recorder.ts"

/** A recorder whose recording is sent, each time by a reader that may be new. */
export class ShippedRecorder {
  readonly store = new MemoryStore()
  readonly recorder: ModelledRecorder
  #reader: DeltaReader | undefined
  #tenure: Tenure = firstTenure

  constructor(seed: number) {
    this.recorder = new ModelledRecorder(temporaryDirectory(), seed)
  }

  async ship(maximumBytes: number, isNewReader: boolean, most?: number): Promise<void> {
    if (isNewReader) this.forget()
    this.#reader ??= new DeltaReader(this.recorder.writer.directory)
    this.#tenure = await ship(this.store, this.#reader, this.#tenure, {
      maximumBytes,
      ...(most !== undefined && { most }),
    })
  }

  /** Before the directory of the recorder is another one, or has another writer. */
  forget(): void {
    this.#reader?.close()
    this.#reader = undefined
  }

  async restored(): Promise<string> {
    const directory = temporaryDirectory()
    await restoreStream(this.store, directory)
    return directory
  }

  close(): void {
    this.forget()
    this.recorder.writer.close()
  }
}

export type Step =
  | Command
  | { readonly type: "ship"; readonly bytes: number; readonly isNewReader: boolean; readonly most: number }

export const anyShip: fc.Arbitrary<Step> = fc.record({
  type: fc.constant("ship" as const),
  bytes: fc.constantFrom(1, 3000, 1_000_000),
  isNewReader: fc.boolean(),
  most: fc.constantFrom(1, 2, 1000),
})

/** Takes the steps, then sends everything, and checks it. */
export const run = async (
  steps: ReadonlyArray<Step>,
  seed: number,
  check: (shipped: ShippedRecorder) => Promise<void>,
) => {
  const shipped = new ShippedRecorder(seed)
  try {
    for (const step of steps) {
      if (step.type === "ship") {
        await shipped.ship(step.bytes, step.isNewReader, step.most)
        continue
      }
      // Merging and retention change what has been sent, and nothing else.
      if (step.type === "merge" || step.type === "retain" || step.type === "compact") {
        shipped.recorder.run({ type: "commit" })
        await shipped.ship(1_000_000, false)
      }
      if (step.type === "crash" || step.type === "reopen") shipped.forget()
      shipped.recorder.run(step)
    }
    shipped.recorder.run({ type: "commit" })
    await shipped.ship(4000, false)
    await check(shipped)
  } finally {
    shipped.close()
  }
}
