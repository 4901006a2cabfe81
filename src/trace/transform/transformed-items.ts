/**
 * A trace after a program, item by item: the objects of its events go through the program in batches, by this thread or by others, and come back in their
 * order. At most a few batches are held.
 */
import type { TraceItem } from "../trace-item.ts"
import { BatchBuilder, type HeldBatch } from "./batch-builder.ts"
import type { Program } from "./language/program.ts"
import {
  type EffectCounts,
  noCounts,
  type ObjectBatch,
  type TransformedBatch,
  type TransformSample,
} from "./object-batch.ts"
import { TransformedEvents } from "./transformed-events.ts"

/** What the program did so far. */
export interface TransformCounts {
  /** States and deletions that were read. */
  objects: number
  /** Of them, those that are written with something else in them. */
  changed: number
  /** Of them, those that are not written. */
  dropped: number
  inserted: number
  /** By command. */
  readonly statements: ReadonlyArray<EffectCounts>
  readonly samples: Array<TransformSample>
}

interface TransformOptions {
  readonly program: Program
  /** Runs one batch. */
  readonly run: (batch: ObjectBatch) => TransformedBatch | Promise<TransformedBatch>
  /** Batches that may be run at once. */
  readonly lanes: number
  /** Examples for each command. */
  readonly samples: number
}

/** Nothing yet. */
export const noTransformation = (program: Program): TransformCounts => ({
  ...{ objects: 0, changed: 0, dropped: 0, inserted: 0 },
  statements: noCounts(program),
  samples: [],
})

/**
 * The transformed items, chunk by chunk. `counts` is counted up.
 * @throws TransformFailed, and any error of the source and of `run`
 */
export async function* transformedItems(
  source: AsyncIterable<Iterable<TraceItem>>,
  { program, run, lanes, samples }: TransformOptions,
  counts: TransformCounts,
): AsyncGenerator<Iterable<TraceItem>, void> {
  const builder = new BatchBuilder(program, samples)
  const events = new TransformedEvents(program, samples, counts)
  /** Oldest first. */
  const sent: Array<readonly [held: HeldBatch, result: Promise<TransformedBatch | undefined>]> = []
  const send = (held: HeldBatch): void => {
    const result = Promise.resolve(held.batch === undefined ? undefined : run(held.batch))
    // If an earlier one fails, this one is never awaited, and its failure would count as unhandled.
    result.catch(() => undefined)
    sent.push([held, result])
  }
  const received = async (): Promise<Iterable<TraceItem>> => {
    const oldest = sent.shift()
    return oldest === undefined ? [] : events.of(oldest[0], await oldest[1])
  }
  for await (const chunk of source) {
    for (const item of chunk) {
      const held = builder.add(item)
      if (held === undefined) continue
      send(held)
      if (sent.length > lanes) yield await received()
    }
  }
  send(builder.end())
  while (sent.length > 0) yield await received()
  yield events.end()
}
