/** Worker entry point of the reader. */
import { lowerThreadPriority } from "../../runtime/thread-priority.ts"
import { runInWorker } from "../../runtime/worker.ts"
import { readerBody } from "../reader/reader-body.ts"
import { readerDefinition, readerNice } from "../reader/reader-interface.ts"

lowerThreadPriority(readerNice)

runInWorker(readerDefinition, readerBody)
