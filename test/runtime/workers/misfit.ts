import { runInWorker } from "../../../src/runtime/thread/worker.ts"
import { misfit, misfitBody } from "../toys/misfit.ts"

runInWorker(misfit, misfitBody)
