/** Worker entry point of the exporter. */
import { extname } from "node:path"
import { lowerThreadPriority } from "../../runtime/thread/thread-priority.ts"
import { runInWorker } from "../../runtime/thread/worker.ts"
import { exporterBody } from "../exporter/body.ts"
import { exporterDefinition, exportNice } from "../exporter/definition.ts"

// Beside this module, be both bundles or sources.
const encoder = new URL(`encode${extname(import.meta.url)}`, import.meta.url)

// Before anything else: threads that are started from here, the encoding pool, begin with the priority of this one.
lowerThreadPriority(exportNice)

runInWorker(exporterDefinition, exporterBody(encoder))
