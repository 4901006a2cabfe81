/** Worker entry point of the exporter. */
import { extname } from "node:path"
import { lowerThreadPriority } from "../../runtime/thread/thread-priority.ts"
import { runInWorker } from "../../runtime/thread/worker.ts"
import { exporterBody } from "../exporter/body.ts"
import { exporterDefinition, exportNice } from "../exporter/definition.ts"

// In the same directory as this module, both in a build and in a checkout.
const encoder = new URL(`encode${extname(import.meta.url)}`, import.meta.url)

// Before anything else: threads started from here, the encoding pool, inherit the priority of this one.
lowerThreadPriority(exportNice)

runInWorker(exporterDefinition, exporterBody(encoder))
