/** Kinds whose rows are lost: blocks list them by number, and their tables of contents name the kinds that they contain. */
import type { DatabaseSync } from "node:sqlite"
import type { BlockSource } from "../blocks/block-source.ts"

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
