/**
 * Names of kinds and of objects whose rows are lost. Blocks list kinds by number, and their tables of contents name the kinds that they contain. Names of
 * objects are in the objects themselves: `metadata` of any event has them that is not abridged, as the first of an object
 * never is. Of an object without such an event, because it has expired, only deletions are left; it gets a name that no object has.
 */
import type { DatabaseSync } from "node:sqlite"
import { formatExactJson, isJsonObject } from "../../trace/json/exact-json.ts"
import { metadataOf } from "../../trace/sanitising/managed-fields.ts"
import type { BlockFrame } from "../blocks/block-frame.ts"
import type { BlockSource, KindKey } from "../blocks/block-source.ts"
import { isAbridged } from "../blocks/merged/abridged-object.ts"

interface LostKind {
  /** The recording's number for the kind. */
  readonly id: number
  /** `undefined`: it cannot be told from others that are lost as well. */
  readonly gvk: string | undefined
}

/** The kinds that blocks list and the table of kinds does not have. */
export const lostKinds = (database: DatabaseSync, source: BlockSource): ReadonlyArray<LostKind> => {
  const known = new Set(
    database
      .prepare("SELECT gvk FROM kind")
      .all()
      .map(({ gvk }) => String(gvk)),
  )
  const ids = database
    .prepare("SELECT DISTINCT kind AS id FROM block_kind WHERE kind NOT IN (SELECT id FROM kind) ORDER BY id")
    .all()
  const keys = database.prepare("SELECT last_sequence AS key FROM block_kind WHERE kind = ?")
  return ids.map(({ id }) => {
    let candidates: Set<string> | undefined
    for (const { key } of keys.all(id as number)) {
      if (!source.isIntact(key as number)) continue
      const inBlock = new Set(source.tableAt(key as number).frames.map((frame) => frame.events.gvk))
      candidates = new Set([...(candidates ?? inBlock)].filter((gvk) => inBlock.has(gvk) && !known.has(gvk)))
    }
    const [gvk, ...others] = candidates ?? []
    return { id: id as number, gvk: others.length === 0 ? gvk : undefined }
  })
}

/** A row to be written in the place of a lost one. */
interface FoundName {
  readonly number: number
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly firstSequence: number
  /** The JSON array, the empty string for none. */
  readonly ownerReferences: string
}

/** The objects of a kind that events mention and that have no name. `isKnown`: whether a number has one. */
export const lostNames = (
  source: BlockSource,
  kind: KindKey,
  isKnown: (number: number) => boolean,
): ReadonlyArray<FoundName> => {
  const found = new Map<number, FoundName>()
  const first = new Map<number, number>()
  source.passingOverDamage(() => {
    for (const frame of everyFrame(source, kind)) {
      for (let index = 0; index < frame.events.count; index++) {
        const number = frame.events.objectNumber(index)
        if (isKnown(number) || found.has(number)) continue
        const sequence = frame.sequence(index)
        if (!first.has(number)) first.set(number, sequence)
        if (frame.events.length(index) === 0) continue
        const { stored } = source.eventAt(sequence)
        const name = isAbridged(stored) ? undefined : nameIn(stored)
        if (name !== undefined) found.set(number, { number, firstSequence: first.get(number) ?? sequence, ...name })
      }
    }
  })
  return [...first].map(
    ([number, firstSequence]) =>
      found.get(number) ?? {
        ...{ number, firstSequence, ownerReferences: "" },
        ...{ uid: `lost-${kind.id}-${number}`, namespace: "", name: `lost-${number}` },
      },
  )
}

const nameIn = (object: Uint8Array): Omit<FoundName, "number" | "firstSequence"> | undefined => {
  const metadata = metadataOf(object)
  if (metadata === undefined) return undefined
  const { uid, namespace = "", name, ownerReferences } = metadata
  if (typeof uid !== "string" || typeof namespace !== "string" || typeof name !== "string") return undefined
  const hasOwners = Array.isArray(ownerReferences) && ownerReferences.every(isJsonObject)
  return { uid, namespace, name, ownerReferences: hasOwners ? formatExactJson(ownerReferences) : "" }
}

function* everyFrame(source: BlockSource, kind: KindKey): Generator<BlockFrame, void, void> {
  yield* source.framesCarriedOver(kind)
  yield* source.framesOf(kind, 0)
}
