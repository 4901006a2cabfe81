/** Worker entry point of the watch hub. */
import { runInWorker } from "../../runtime/index.ts"
import { hubBody } from "../hub/hub-actor.ts"
import { hubDefinition } from "../hub/hub-interface.ts"

runInWorker(hubDefinition, hubBody)
