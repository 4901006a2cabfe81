/**
 * The real store whose acknowledgements to the owner-resolver get lost half of the time, from the first on, and to watchers after
 * their first frames: a life of the resolver sends few frames, and some are to be delivered again to the store's next life.
 */
import { ownerResolverName, storeDefinition } from "../../../src/actors/index.ts"
import { storeBody } from "../../../src/actors/store/store-body.ts"
import { Inbox, runInWorker } from "../../../src/runtime/index.ts"

const acknowledge = Inbox.prototype.acknowledge
const sparedFrames = 10
const asked = new Map<string, number>()
Inbox.prototype.acknowledge = function (name, incarnation, number) {
  const times = (asked.get(name) ?? 0) + 1
  asked.set(name, times)
  const isSpared = name !== ownerResolverName && number <= sparedFrames
  if (isSpared || times % 2 === 0) acknowledge.call(this, name, incarnation, number)
}

runInWorker(storeDefinition, storeBody)
