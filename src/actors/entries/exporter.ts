/** Worker entry point of the exporter. */
import { extname } from "node:path"
import { lowerThreadPriority } from "../../runtime/thread/thread-priority.ts"
import { runInWorker } from "../../runtime/thread/worker.ts"
import { exporterBody } from "../exporter/body.ts"
import { exporterDefinition, exportNice } from "../exporter/definition.ts"

// In the same directory as this module, both in a build and in a checkout.
const besides = (name: string): URL => new URL(`${name}${extname(import.meta.url)}`, import.meta.url)

// Before anything else: threads started from here, the encoding pool, inherit the priority of this one.
lowerThreadPriority(exportNice)

// In a checkout without bundles, programs are run by a module of another folder.
const isBundled = extname(import.meta.url) === ".js"
const transformer = isBundled
  ? besides("transform")
  : new URL("../../trace/transform/entries/transform.ts", import.meta.url)

runInWorker(exporterDefinition, exporterBody({ encoder: besides("encode"), transformer }))
