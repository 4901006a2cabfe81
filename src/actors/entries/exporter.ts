/** Worker entry point of the exporter. */
import { extname } from "node:path"
import { provideBlobSource } from "../../archive/index.ts"
import { threadsFetcher } from "../../fleet/index.ts"
import { lowerThreadPriority, runInWorker } from "../../runtime/index.ts"
import { exporterBody } from "../exporter/exporter-body.ts"
import { exporterDefinition, exportNice } from "../exporter/exporter-interface.ts"

// Before anything else: threads started from here, which run programs, inherit the priority of this one.
lowerThreadPriority(exportNice)

// In a checkout without bundles, programs are run by a module of another folder.
const transformer = extname(import.meta.url) === ".js" ? "./transform.js" : "../../trace/transform/entries/transform.ts"

// The directory may be a mirror.
provideBlobSource(threadsFetcher())

runInWorker(exporterDefinition, exporterBody(new URL(transformer, import.meta.url)))
