/** Worker entry point of the reader. */
import { provideBlobSource } from "../../archive/index.ts"
import { threadsFetcher } from "../../fleet/index.ts"
import { lowerThreadPriority, runInWorker } from "../../runtime/index.ts"
import { readerBody } from "../reader/reader-body.ts"
import { readerDefinition, readerNice } from "../reader/reader-interface.ts"

lowerThreadPriority(readerNice)

// The directory may be a mirror.
provideBlobSource(threadsFetcher())

runInWorker(readerDefinition, readerBody)
