/** The live objects of one kind, from which its next watcher detects what changed while it was not watched. */

import type { DatabaseSync } from "node:sqlite"
import type { ResourceVersion } from "../../kube/resource-version.ts"
import type { KindKey } from "../blocks/block-source.ts"
import { ObjectNames } from "../rows/object-rows.ts"
import type { StateHistory } from "./state-history.ts"

/** One object with its last state. */
export interface LiveObject {
  readonly number: number
  readonly uid: string
  readonly namespace: string
  readonly name: string
  /** An integer, or the text of an opaque version. */
  readonly version: ResourceVersion | string
  /** The two halves of the fingerprint, unsigned 32-bit integers. */
  readonly fingerprintLow: number
  readonly fingerprintHigh: number
}

/** Objects per batch: about what one message between workers may carry. */
const BATCH_OBJECTS = 1024

/**
 * Objects alive after `throughSequence`, in batches ordered by number. Memory: 33 bytes for each object of the kind until the last batch is
 * read, and one batch of names.
 */
export function* liveObjectsOf(
  database: DatabaseSync,
  directory: string,
  history: StateHistory,
  kind: KindKey,
  throughSequence: number,
): Generator<ReadonlyArray<LiveObject>, void, void> {
  const names = new ObjectNames(database, directory)
  const states = history.aliveAt(kind, { throughSequence })
  for (let start = 0; start < states.count; start += BATCH_OBJECTS) {
    const batch: Array<LiveObject> = []
    for (let index = start; index < Math.min(start + BATCH_OBJECTS, states.count); index++) {
      const { number, uid, namespace, name } = names.nameOf(kind.id, states.numbers[index] as number)
      const fingerprintLow = states.fingerprintsLow[index] as number
      const fingerprintHigh = states.fingerprintsHigh[index] as number
      batch.push({ number, uid, namespace, name, version: states.version(index), fingerprintLow, fingerprintHigh })
    }
    yield batch
  }
}
