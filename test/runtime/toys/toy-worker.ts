import type { MemoryLimits } from "../../../src/runtime/actor.ts"
import { type StartThread, workerThread } from "../../../src/runtime/thread/thread.ts"

/** The entry point of a toy actor of `test/runtime/workers/`: its bundle, as users run actors. */
export const toyWorker = (name: string): URL => new URL(`../../../dist/test-workers/${name}.js`, import.meta.url)

const limits: MemoryLimits = { oldGenerationMb: 64, youngGenerationMb: 4 }

/** Starts that toy in a worker of its own. */
export const inWorker = (name: string, memory: MemoryLimits = limits): StartThread =>
  workerThread(toyWorker(name), memory)
