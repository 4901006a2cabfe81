/** Worker entry point of the exporter. */
import { extname } from "node:path"
import { lowerThreadPriority, runInWorker } from "../../runtime/index.ts"
import { exporterBody } from "../exporter/exporter-body.ts"
import { exporterDefinition, exportNice } from "../exporter/exporter-interface.ts"

// Before anything else: threads started from here, which run programs, inherit the priority of this one.
lowerThreadPriority(exportNice)

// In a checkout without bundles, programs are run by a module of another folder.
const transformer = extname(import.meta.url) === ".js" ? "./transform.js" : "../../trace/transform/entries/transform.ts"

runInWorker(exporterDefinition, exporterBody(new URL(transformer, import.meta.url)))
