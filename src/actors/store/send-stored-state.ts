/** Sends a kind's stored state to a watcher that starts, in frames of some thousand objects. */

import type { ArchiveWriter, KindState } from "../../archive/index.ts"
import type { Outbox } from "../../runtime/index.ts"
import { podLivesKind } from "../../trace/index.ts"
import { encodeStoredState, type LivesResumePoint } from "../../wire/index.ts"

/**
 * Everything sent is committed, so the watcher may resume from it. `incarnation`: the life of the watcher that it is for. `tracksPods`: the
 * watcher also follows pod lifecycles.
 */
export const sendStoredState = (
  outbox: Outbox,
  archive: ArchiveWriter,
  { gvk, tracksPods }: { readonly gvk: string; readonly tracksPods: boolean },
  incarnation: number,
): void => {
  const kind = archive.kindState(gvk)
  const head = {
    resumeVersion: kind.completeThrough,
    namespaces: kind.namespaces,
    epoch: kind.epoch,
    nextObjectNumber: kind.nextObjectNumber,
    lastTime: kind.lastEventTime,
    completeTime: kind.completeThroughTime,
    clusterUid: kind.clusterUid === "" ? (archive.metadata.get("clusterUid") ?? "") : kind.clusterUid,
    listReason: kind.listReason,
    selection: kind.selection,
    incarnation,
    nextPodNumber: archive.nextPodNumber,
    lives: livesOf(archive.kindState(podLivesKind)),
  }
  for (const objects of archive.liveObjects(gvk)) {
    outbox.send(encodeStoredState({ ...head, objects, pods: [], last: false }))
  }
  if (tracksPods) {
    for (const pods of archive.livingPods()) outbox.send(encodeStoredState({ ...head, objects: [], pods, last: false }))
  }
  outbox.send(encodeStoredState({ ...head, objects: [], pods: [], last: true }))
}

const livesOf = ({ completeThrough, epoch, completeThroughTime, namespaces }: KindState): LivesResumePoint => ({
  resumeVersion: completeThrough,
  epoch,
  completeTime: completeThroughTime,
  namespaces,
})
