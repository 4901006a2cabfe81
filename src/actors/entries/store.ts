/** Worker entry point of the store. */
import { runInWorker } from "../../runtime/worker.ts"
import { storeBody } from "../store/body.ts"
import { storeDefinition } from "../store/definition.ts"

runInWorker(storeDefinition, storeBody)
