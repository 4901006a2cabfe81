/** Worker entry point of the exporter. */
import { runInWorker } from "../../runtime/worker.ts"
import { exporterBody } from "../exporter/body.ts"
import { exporterDefinition } from "../exporter/definition.ts"

runInWorker(exporterDefinition, exporterBody)
