import type { MemoryLimits } from "../../../src/runtime/actor.ts"
import { type StartThread, workerThread } from "../../../src/runtime/thread.ts"
import { testWorker } from "../../harness/test-worker.ts"

const limits: MemoryLimits = { oldGenerationMb: 64, youngGenerationMb: 4 }

/** Starts that toy in a worker of its own. */
export const inWorker = (name: string, memory: MemoryLimits = limits): StartThread =>
  workerThread(testWorker(name), memory)
