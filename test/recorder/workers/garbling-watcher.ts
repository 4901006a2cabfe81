/**
 * The real watcher, whose frames of one kind are garbled once it records: in its first life, or in every life for a ConfigMap named
 * so. What a defect of ours would send.
 */
import {
  observationsMailbox,
  type WatcherConfig,
  type WatcherControl,
  type WatcherReport,
  watcherDefinition,
} from "../../../src/actors/index.ts"
import { watcherBody } from "../../../src/actors/watcher/watcher-body.ts"
import { type ActorBody, Outbox, runInWorker } from "../../../src/runtime/index.ts"

const always = "always garbled"
const once = "garbled once"

const garblingBody: ActorBody<WatcherConfig, WatcherControl, WatcherReport> = (context) => {
  if (context.config.gvk === "v1.ConfigMap") {
    const { reserve, commit } = Outbox.prototype
    let memory: Buffer = Buffer.alloc(0)
    Outbox.prototype.reserve = function (minimumBytes) {
      memory = reserve.call(this, minimumBytes)
      return memory
    }
    Outbox.prototype.commit = function (length) {
      const frame = memory.subarray(0, length)
      const isChosen = frame.includes(always) || (context.incarnation === 1 && frame.includes(once))
      if (this.mailbox === observationsMailbox && isChosen) frame.fill(0xff)
      return commit.call(this, length)
    }
  }
  return watcherBody(context)
}

runInWorker(watcherDefinition, garblingBody)
