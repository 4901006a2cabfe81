/** Worker entry point of the watch hub. */
import { runInWorker } from "../../runtime/thread/worker.ts"
import { hubBody } from "../hub/body.ts"
import { hubDefinition } from "../hub/definition.ts"

runInWorker(hubDefinition, hubBody)
