/** Hands a kind's stored state to a watcher that starts, in frames of some thousand objects. */
import type { Outbox } from "../../runtime/outbox.ts"
import type { ArchiveWriter } from "../../trace/archive/archive-writer.ts"
import { encodeStoredState } from "../stored-state.ts"

/** Everything sent is committed: the watcher may resume from it. `incarnation`: the watcher's life it is meant for. */
export const sendStoredState = (outbox: Outbox, archive: ArchiveWriter, gvk: string, incarnation: number): void => {
  const kind = archive.kindState(gvk)
  const head = {
    resumeVersion: kind.completeThrough,
    epoch: kind.epoch,
    nextObjectNumber: kind.nextObjectNumber,
    lastTime: kind.lastEventTime,
    completeTime: kind.completeThroughTime,
    clusterUid: kind.clusterUid === "" ? (archive.metadata.get("clusterUid") ?? "") : kind.clusterUid,
    incarnation,
  }
  for (const objects of archive.liveObjects(gvk)) outbox.send(encodeStoredState({ ...head, objects, last: false }))
  outbox.send(encodeStoredState({ ...head, objects: [], last: true }))
}
