/** Worker entry point of the archivist. */
import { lowerThreadPriority, runInWorker } from "../../runtime/index.ts"
import { archivistBody } from "../archivist/archivist-body.ts"
import { archivistDefinition, archivistNice } from "../archivist/archivist-interface.ts"

lowerThreadPriority(archivistNice)

runInWorker(archivistDefinition, archivistBody)
