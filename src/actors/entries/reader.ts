/** Worker entry point of the reader. */
import { lowerThreadPriority, runInWorker } from "../../runtime/index.ts"
import { readerBody } from "../reader/reader-body.ts"
import { readerDefinition, readerNice } from "../reader/reader-interface.ts"

lowerThreadPriority(readerNice)

runInWorker(readerDefinition, readerBody)
