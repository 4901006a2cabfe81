/** Worker entry point of the watcher. */
import { runInWorker } from "../../runtime/worker.ts"
import { watcherBody } from "../watcher/body.ts"
import { watcherDefinition } from "../watcher/definition.ts"

runInWorker(watcherDefinition, watcherBody)
