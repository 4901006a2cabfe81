/** Worker entry point of the watcher. */
import { runInWorker } from "../../runtime/index.ts"
import { watcherBody } from "../watcher/watcher-body.ts"
import { watcherDefinition } from "../watcher/watcher-interface.ts"

runInWorker(watcherDefinition, watcherBody)
