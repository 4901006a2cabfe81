import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { Worker } from "node:worker_threads"
import { expect, test } from "vitest"
import { cedeCore } from "../../src/runtime/thread-priority.ts"

const module = new URL("../../src/runtime/thread-priority.ts", import.meta.url).href

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

test.runIf(process.platform === "linux")("a thread that cedes its core sleeps, each time", () => {
  const sleeps = (): number =>
    Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(readFileSync("/proc/thread-self/status", "utf8"))?.[1])
  const before = sleeps()
  for (let time = 0; time < 20; time++) cedeCore()
  expect(sleeps() - before).toBeGreaterThanOrEqual(20)
})

test.runIf(process.platform === "linux")("V8's helper threads get a lower priority, and no other thread does", () => {
  const source = `
    import { readdirSync, readFileSync } from "node:fs"
    import { lowerHelperPriority } from ${JSON.stringify(module)}
    const count = lowerHelperPriority(7)
    const stats = readdirSync("/proc/self/task").map((thread) => readFileSync("/proc/self/task/" + thread + "/stat", "utf8"))
    console.log(JSON.stringify({ count, stats }))`
  const output = execFileSync(process.execPath, ["--input-type=module", "--eval", source], { encoding: "utf8" })
  const { count, stats } = JSON.parse(output) as { readonly count: number; readonly stats: ReadonlyArray<string> }
  const before = niceOf(readFileSync("/proc/self/stat", "utf8"))
  const lowered = stats.filter((stat) => niceOf(stat) === 7)
  expect(count).toBeGreaterThan(0)
  expect(lowered.length).toBe(count)
  expect(stats.filter((stat) => niceOf(stat) === before).length).toBe(stats.length - count)
})
