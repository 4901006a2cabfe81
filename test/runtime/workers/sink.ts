import { runInWorker } from "../../../src/runtime/worker.ts"
import { sink, sinkBody } from "../toys/numbers.ts"

runInWorker(sink, sinkBody)
