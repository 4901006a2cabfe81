/**
 * Gathers a kind's stored state from the store's frames before the watch begins.
 *
 * The store sends the run anew whenever either end starts another life; frames meant for an earlier life of this watcher
 * are left over in the mailbox and ignored, and a run that a dying store left half sent is started over.
 */
import type { ActorContext } from "../../../runtime/actor.ts"
import type { StoredPod, StoredPods } from "../../../wire/stored-pods.ts"
import { decodeStoredState, type KindResumePoint, type StoredObject } from "../../../wire/stored-state.ts"

export interface LoadedState {
  readonly resume: KindResumePoint
  readonly objects: ReadonlyArray<StoredObject>
  /** Empty unless the watcher follows pods. */
  readonly pods: StoredPods
}

/** Calls `loaded` once. Later runs are acknowledged and ignored: this life's own index is ahead of them. */
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
      // Another life of the store begins its run anew; the same one, linked again, goes on where it was.
      if (incarnation !== storeIncarnation) {
        objects = []
        pods = []
      }
      storeIncarnation = incarnation
      // What a former life acknowledged is gone from the mailbox, and this one remembers nothing of it.
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
      const { objects: _, pods: __, last: ___, incarnation: ____, lives, nextPodNumber, ...resume } = state
      loaded({ resume, objects, pods: { lives, nextPodNumber, pods } })
      objects = []
      pods = []
    },
  })
}
