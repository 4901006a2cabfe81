import { runInWorker } from "../../../src/runtime/worker.ts"
import { counter, counterBody } from "../toys/numbers.ts"

runInWorker(counter, counterBody)
