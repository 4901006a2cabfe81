/** A random recorder whose recording is sent at random moments, and compacted. */
import fc from "fast-check"
import { DeltaReader } from "../../src/archive/index.ts"
import { compactStream, restoreStream } from "../../src/fleet/index.ts"
import { type Command, KINDS, ModelledRecorder } from "../archive/modelled-recorder.ts"
import { START } from "../archive/sample-frames.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { StepsStore } from "./compaction/steps-store.ts"
import { MemoryStore } from "./memory-store.ts"
import { firstTenure, ship, type Tenure } from "./shipping-recorder.ts"

/** A recorder whose recording is sent, each time by a reader that may be new. */
export class ShippedRecorder {
  readonly store = new MemoryStore()
  readonly recorder: ModelledRecorder
  #reader: DeltaReader | undefined
  #tenure: Tenure = firstTenure
  /** Behind the last whole segment. */
  #whole: Tenure["position"] = firstTenure.position
  #compactions = 0
  /** What happened before this time may have been dropped. */
  keptFrom = 0

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
    const { last, position } = this.#tenure
    if (last?.facts.isWhole === true) this.#whole = position
  }

  /** Another epoch continues behind the last whole segment: parts that wait for one count nowhere. */
  takeOver(): void {
    this.forget()
    const epoch = this.#tenure.epoch + 1
    this.#tenure = { ...this.#tenure, epoch, owner: `owner-${epoch}`, position: this.#whole }
  }

  /** What is replaced is removed at once. `part`: of the time that has passed, how much is kept. */
  async compact(rangeBytes: number, partBytes: number, part = 1): Promise<void> {
    if (this.store.objects.size === 0) return
    const { model } = this.recorder
    const all = { cut: model.sequence, fromTime: 0, untilTime: Number.MAX_SAFE_INTEGER, kinds: KINDS }
    const events = model.events(all)
    const now = Math.max(START, ...events.map((event) => (event.type === "object" ? event.time : 0)))
    const keepMicros = part === 1 ? undefined : 1 + Math.floor((now - START) * part)
    this.keptFrom = Math.max(this.keptFrom, now - (keepMicros ?? now))
    const store = new StepsStore(this.store)
    store.nowMs = Math.ceil(now / 1000)
    await compactStream(store, {
      ...{ temporaryDirectory: temporaryDirectory(), graceMs: 0, nowMicros: () => now, rangeBytes, partBytes },
      ...{ keepMicros, randomId: () => String(++this.#compactions) },
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
  | { readonly type: "shrink"; readonly rangeBytes: number; readonly partBytes: number; readonly part: number }
  | { readonly type: "takeOver" }

export const anyTakeOver: fc.Arbitrary<Step> = fc.constant({ type: "takeOver" })

export const anyShip: fc.Arbitrary<Step> = fc.record({
  type: fc.constant("ship" as const),
  bytes: fc.constantFrom(1, 3000, 1_000_000),
  isNewReader: fc.boolean(),
  most: fc.constantFrom(1, 2, 1000),
})

export const compactions = (part: fc.Arbitrary<number>): fc.Arbitrary<Step> =>
  fc.record({
    type: fc.constant("shrink" as const),
    rangeBytes: fc.constantFrom(1, 10_000, 1_000_000),
    partBytes: fc.constantFrom(1, 5000, 1_000_000),
    part,
  })

export const anyCompaction = compactions(fc.constant(1))

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
      if (step.type === "takeOver") {
        shipped.takeOver()
        continue
      }
      if (step.type === "shrink") {
        await shipped.compact(step.rangeBytes, step.partBytes, step.part)
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
