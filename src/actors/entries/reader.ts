/** Worker entry point of the reader. */
import { lowerThreadPriority } from "../../runtime/thread-priority.ts"
import { runInWorker } from "../../runtime/worker.ts"
import { readerBody } from "../reader/body.ts"
import { readerDefinition, readerNice } from "../reader/definition.ts"

lowerThreadPriority(readerNice)

runInWorker(readerDefinition, readerBody)
