/** The real watcher, which in its first life hoards memory, once it records, until its thread's heap has no more. */

import {
  type WatcherConfig,
  type WatcherControl,
  type WatcherReport,
  watcherDefinition,
} from "../../../src/actors/index.ts"
import { watcherBody } from "../../../src/actors/watcher/watcher-body.ts"
import { type ActorBody, runInWorker } from "../../../src/runtime/index.ts"

const greedyBody: ActorBody<WatcherConfig, WatcherControl, WatcherReport> = (context) =>
  watcherBody({
    ...context,
    report: (report) => {
      context.report(report)
      if (context.incarnation === 1 && report.type === "state" && report.state === "watching") hoard()
    },
  })

/** In large steps, so that it takes a fraction of a second. */
const hoard = (): void => {
  const kept: Array<ReadonlyArray<number>> = []
  for (;;) kept.push(new Array<number>(4_000_000).fill(0.5))
}

runInWorker(watcherDefinition, greedyBody)
