/** Worker entry point of a module worker. */
import { runInWorker } from "../../runtime/thread/worker.ts"
import { moduleWorkerBody } from "../dispatcher/worker/body.ts"
import { moduleWorkerDefinition } from "../dispatcher/worker/definition.ts"

runInWorker(moduleWorkerDefinition, moduleWorkerBody)
