/**
 * Gathers a kind's stored state from the store's frames before the watch begins.
 *
 * The store sends the whole state again whenever either end starts another life; frames for an earlier life of this watcher that are left
 * in the mailbox are ignored, and a state that a dying store sent only in part is gathered again.
 */
import type { ActorContext } from "../../../runtime/index.ts"
import {
  decodeStoredState,
  type KindResumePoint,
  type StoredObject,
  type StoredPod,
  type StoredPods,
} from "../../../wire/index.ts"

export interface LoadedState {
  readonly resume: KindResumePoint
  readonly objects: ReadonlyArray<StoredObject>
  /** Empty unless the watcher follows pods. */
  readonly pods: StoredPods
}

/** Calls `loaded` once. Later states are acknowledged and ignored, because this life's own index is newer. */
export const receiveStoredState = (
  context: Pick<ActorContext<unknown, unknown>, "inbox" | "incarnation">,
  mailbox: string,
  loaded: (state: LoadedState) => void,
): void => {
  let objects: Array<StoredObject> = []
  let pods: Array<StoredPod> = []
  let storeIncarnation = 0
  let done = false
  const inbox = context.inbox(mailbox, {
    attached(_store, incarnation) {
      // Another life of the store sends its state from the start; the same one, linked again, continues where it was.
      if (incarnation !== storeIncarnation) {
        objects = []
        pods = []
      }
      storeIncarnation = incarnation
      // What a previous life acknowledged is no longer in the mailbox, and this life does not have it.
      return undefined
    },
    frame(sender, frame) {
      const state = decodeStoredState(frame.payload)
      inbox.acknowledge(sender, frame.incarnation, frame.number)
      if (done || state.incarnation !== context.incarnation) return
      for (const object of state.objects) objects.push(object)
      for (const pod of state.pods) pods.push(pod)
      if (!state.last) return
      done = true
      const { resumeVersion, namespaces, epoch, nextObjectNumber, lastTime, completeTime } = state
      const { clusterUid, listReason, selection, lives, nextPodNumber } = state
      const resume = {
        ...{ resumeVersion, namespaces, epoch, nextObjectNumber, lastTime, completeTime },
        ...{ clusterUid, listReason, selection },
      }
      loaded({ resume, objects, pods: { lives, nextPodNumber, pods } })
      objects = []
      pods = []
    },
  })
}
