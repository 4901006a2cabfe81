/** Worker entry point of a module worker. */
import { runInWorker } from "../../runtime/index.ts"
import { moduleWorkerBody } from "../dispatcher/worker/module-worker-actor.ts"
import { moduleWorkerDefinition } from "../dispatcher/worker/module-worker-interface.ts"

runInWorker(moduleWorkerDefinition, moduleWorkerBody)
