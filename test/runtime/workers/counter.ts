import { runInWorker } from "../../../src/runtime/thread/worker.ts"
import { counter, counterBody } from "../toys/numbers.ts"

runInWorker(counter, counterBody)
