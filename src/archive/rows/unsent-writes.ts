/**
 * Which audited writes were added since a copy of the recording was brought up to date. Their rows have no order of arrival: the key of one is what it
 * wrote, so that it can be found by that, and another column with an index would make each a third larger. So for each batch that is added it is kept
 * from where on rows of a kind may be new; a copy gets all of them from there on, and some again.
 *
 * The text is kept in the recording's metadata, and is written in the transaction that adds the rows.
 */
import type { Metadata } from "./metadata.ts"

/** Key of the metadata. Absent or empty: the recording is not sent, and nothing is noted. */
export const UNSENT_WRITES_KEY = "unsentWrites"

/** From where on rows of one kind may be new: by version, and, if versions do not say when they were written, by µs since the Unix epoch. */
export interface FirstUnsent {
  readonly version: number
  readonly received: number
}

interface Batch {
  readonly number: number
  readonly kinds: Readonly<Record<string, FirstUnsent>>
}

/** Batches that are kept apart. Of more, the first two become one. */
const mostBatches = 64

const batchesIn = (text: string | undefined): ReadonlyArray<Batch> =>
  text === undefined || text === "" ? [] : (JSON.parse(text) as ReadonlyArray<Batch>)

const joined = (batches: ReadonlyArray<Batch>): Readonly<Record<string, FirstUnsent>> => {
  const kinds: Record<string, FirstUnsent> = {}
  for (const batch of batches)
    for (const [kind, { version, received }] of Object.entries(batch.kinds)) {
      const before = kinds[kind] ?? { version, received }
      kinds[kind] = { version: Math.min(version, before.version), received: Math.min(received, before.received) }
    }
  return kinds
}

/** The number of the last batch that was added; 0: none was. */
export const lastBatch = (text: string | undefined): number => batchesIn(text).at(-1)?.number ?? 0

/** By kind, from where on rows may be new that were added after a batch. */
export const unsentAfter = (text: string | undefined, number: number): Readonly<Record<string, FirstUnsent>> =>
  joined(batchesIn(text).filter((batch) => batch.number > number))

/** The text with one batch more. */
const withBatch = (text: string | undefined, kinds: Readonly<Record<string, FirstUnsent>>): string => {
  const batches = [...batchesIn(text), { number: lastBatch(text) + 1, kinds }]
  const [first, second, ...rest] = batches
  const isMany = batches.length > mostBatches && first !== undefined && second !== undefined
  return JSON.stringify(isMany ? [{ number: second.number, kinds: joined([first, second]) }, ...rest] : batches)
}

/** The recording's metadata. */
type Texts = Pick<Metadata, "get" | "set">

/** Before the first delta is read: what is added from here on is noted. A first delta has all rows. */
export const beginSending = (metadata: Texts): void => {
  if ((metadata.get(UNSENT_WRITES_KEY) ?? "") === "") metadata.set(UNSENT_WRITES_KEY, withoutSent(0))
}

/** The recording is not sent any more. */
export const endSending = (metadata: Texts): void => {
  if ((metadata.get(UNSENT_WRITES_KEY) ?? "") !== "") metadata.set(UNSENT_WRITES_KEY, "")
}

/** Writes were added. Costs nothing where the recording is not sent. */
export const noteAdded = (metadata: Texts, kinds: () => Readonly<Record<string, FirstUnsent>>): void => {
  const text = metadata.get(UNSENT_WRITES_KEY) ?? ""
  if (text !== "") metadata.set(UNSENT_WRITES_KEY, withBatch(text, kinds()))
}

/** A copy has everything up to a batch. */
export const noteSent = (metadata: Texts, number: number): void => {
  const text = metadata.get(UNSENT_WRITES_KEY) ?? ""
  if (text !== "" && number > (batchesIn(text)[0]?.number ?? 0))
    metadata.set(UNSENT_WRITES_KEY, withoutSent(number, text))
}

/** The text after a copy got everything up to a batch. Its number stays, because the next one continues from it. */
export const withoutSent = (number: number, text?: string): string =>
  JSON.stringify([{ number, kinds: {} }, ...batchesIn(text).filter((batch) => batch.number > number)])
