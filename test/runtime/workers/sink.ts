import { runInWorker } from "../../../src/runtime/thread/worker.ts"
import { sink, sinkBody } from "../toys/numbers.ts"

runInWorker(sink, sinkBody)
