import { readFileSync } from "node:fs"
import { Worker } from "node:worker_threads"
import { expect, test } from "vitest"

const module = new URL("../../../src/runtime/thread/thread-priority.ts", import.meta.url).href

/** The nineteenth field of the kernel's line about a thread; the second, the name, ends with the last bracket. */
const niceOf = (stat: string): number => Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[16])

test.runIf(process.platform === "linux")("a thread that lowers its priority affects no other thread", async () => {
  const source = `
    const { parentPort } = require("node:worker_threads")
    const { readFileSync } = require("node:fs")
    import(${JSON.stringify(module)}).then(({ lowerThreadPriority }) => {
      const isLowered = lowerThreadPriority(10)
      parentPort.postMessage({ isLowered, stat: readFileSync("/proc/thread-self/stat", "utf8") })
    })`
  const before = niceOf(readFileSync("/proc/thread-self/stat", "utf8"))
  const worker = new Worker(source, { eval: true, execArgv: [] })
  const { isLowered, stat } = await new Promise<{ isLowered: boolean; stat: string }>((resolve, reject) => {
    worker.once("message", resolve)
    worker.once("error", reject)
  })
  expect({ isLowered, nice: niceOf(stat) }).toEqual({ isLowered: true, nice: 10 })
  expect(niceOf(readFileSync("/proc/thread-self/stat", "utf8"))).toBe(before)
  await worker.terminate()
})
