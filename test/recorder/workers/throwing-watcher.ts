/**
 * The real watcher. For an object named `crash-N` it throws in life N, out of a callback of its connection; for one named `exit-N` it ends its
 * thread.
 */

import {
  type WatcherConfig,
  type WatcherControl,
  type WatcherReport,
  watcherDefinition,
} from "../../../src/actors/index.ts"
import { watcherBody } from "../../../src/actors/watcher/watcher-body.ts"
import { type ActorBody, runInWorker } from "../../../src/runtime/index.ts"

const throwingBody: ActorBody<WatcherConfig, WatcherControl, WatcherReport> = (context) =>
  watcherBody({
    ...context,
    // With `reportEvents`, called for each object in the callback that read it.
    report: (report) => {
      if (report.type === "event") {
        if (report.name === `crash-${context.incarnation}`) throw new Error("thrown while reading")
        if (report.name === `exit-${context.incarnation}`) process.exit(7)
      }
      context.report(report)
    },
  })

runInWorker(watcherDefinition, throwingBody)
