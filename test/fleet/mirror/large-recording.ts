/** A recording whose objects do not compress, so that its blocks are large: 400 objects change at random, one in every 50th commit. */
import { ArchiveWriter } from "../../../src/archive/index.ts"
import { encodeFrame, START } from "../../archive/sample-frames.ts"
import { seededRandom } from "../../runtime/random.ts"

/** The object that changes in every 50th commit. */
export const rareObject = "v1.ConfigMap/1"

/** Writes so many commits of 40 changes each, 20 s apart. */
export const recordLarge = async (
  directory: string,
  commits: number,
  onCommit: () => Promise<void> = async () => undefined,
): Promise<void> => {
  const gvk = "v1.ConfigMap"
  const random = seededRandom(7)
  const writer = ArchiveWriter.open(directory, { now: () => START + 1e10, limits: { blockBytes: 150_000 } })
  for (let commit = 0; commit < commits; commit++) {
    const events = Array.from({ length: 40 }, (_, index) => {
      const isRare = commit % 50 === 0 && index === 0
      const object = Array.from({ length: 100 }, () => random().toString(36).slice(2)).join("")
      const time = START + commit * 20_000_000 + index
      const number = isRare ? 1 : 2 + Math.floor(random() * 400)
      return { action: "applied", number, time, version: 1 + commit * 40 + index, object } as const
    })
    const newObjects = commit === 0 ? Array.from({ length: 402 }, (_, index) => index + 1) : []
    const frame = encodeFrame({ gvk, newObjects, events, completeThrough: String(1 + commit) })
    writer.append("watcher/1", 1, commit + 1, frame)
    writer.commit()
    await onCommit()
  }
  writer.close()
}
