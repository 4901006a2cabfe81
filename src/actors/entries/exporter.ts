/** Worker entry point of the exporter. */
import { extname } from "node:path"
import { runInWorker } from "../../runtime/worker.ts"
import { exporterBody } from "../exporter/body.ts"
import { exporterDefinition } from "../exporter/definition.ts"

// Beside this module, be both bundles or sources.
const encoder = new URL(`encode${extname(import.meta.url)}`, import.meta.url)

runInWorker(exporterDefinition, exporterBody(encoder))
