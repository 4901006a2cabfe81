/** Worker entry point of the executor. */
import { runInWorker } from "../../runtime/thread/worker.ts"
import { executorBody } from "../executor/actor/body.ts"
import { executorDefinition } from "../executor/actor/definition.ts"

runInWorker(executorDefinition, executorBody)
