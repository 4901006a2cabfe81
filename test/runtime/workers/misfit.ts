import { runInWorker } from "../../../src/runtime/worker.ts"
import { misfit, misfitBody } from "../toys/misfit.ts"

runInWorker(misfit, misfitBody)
