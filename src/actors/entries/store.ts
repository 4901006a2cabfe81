/** Worker entry point of the store. */
import { runInWorker } from "../../runtime/index.ts"
import { storeBody } from "../store/store-body.ts"
import { storeDefinition } from "../store/store-interface.ts"

runInWorker(storeDefinition, storeBody)
