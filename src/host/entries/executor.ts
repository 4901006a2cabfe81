/** Worker entry point of the executor. */
import { runInWorker } from "../../runtime/index.ts"
import { executorBody } from "../executor/executor-actor.ts"
import { executorDefinition } from "../executor/executor-interface.ts"

runInWorker(executorDefinition, executorBody)
