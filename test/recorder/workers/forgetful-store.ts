/**
 * The real store whose acknowledgements get lost half of the time, as those do that a dying thread has not sent yet: so that
 * frames it has committed are delivered again to its next life. The first frames are spared, for the test to begin.
 */

import { storeDefinition } from "../../../src/actors/index.ts"
import { storeBody } from "../../../src/actors/store/store-body.ts"
import { Inbox, runInWorker } from "../../../src/runtime/index.ts"

const acknowledge = Inbox.prototype.acknowledge
const sparedFrames = 10
const asked = new Map<string, number>()
Inbox.prototype.acknowledge = function (name, incarnation, number) {
  const times = (asked.get(name) ?? 0) + 1
  asked.set(name, times)
  if (number <= sparedFrames || times % 2 === 0) acknowledge.call(this, name, incarnation, number)
}

runInWorker(storeDefinition, storeBody)
