import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { Worker } from "node:worker_threads"
import { expect, onTestFinished, test } from "vitest"
import { runningFunctions } from "../../src/runtime/running-code.ts"
import { eventually } from "../harness/eventually.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"

const run = async (does: string): Promise<Worker> => {
  const directory = temporaryDirectory()
  const write = (name: string, text: string): URL => {
    writeFileSync(join(directory, name), text)
    return pathToFileURL(join(directory, name))
  }
  const turns = new SharedArrayBuffer(4)
  write(
    "looping.mjs",
    `import { workerData } from "node:worker_threads"
    const turns = new Int32Array(workerData)
    export const turn = () => { for (;;) Atomics.add(turns, 0, 1) }
    export const later = async () => { await null; for (;;) Atomics.add(turns, 0, 1) }
    export const wait = () => { Atomics.store(turns, 0, 10); Atomics.wait(turns, 0, 10) }`,
  )
  const worker = new Worker(
    write(
      "thread.mjs",
      `const { turn, later, wait } = await import("./looping.mjs?mark")
      const begin = () => { ${does} }
      begin()`,
    ),
    { workerData: turns },
  )
  onTestFinished(async () => void (await worker.terminate()))
  // Others are not mistaken for it.
  const other = new Worker("setInterval(() => undefined, 1000)", { eval: true })
  onTestFinished(async () => void (await other.terminate()))
  await eventually(() => expect(Atomics.load(new Int32Array(turns), 0)).toBeGreaterThan(9))
  return worker
}

const named = async (worker: Worker) =>
  (await runningFunctions(worker)).map(({ name, url }) => `${name} of ${url.slice(url.lastIndexOf("/") + 1)}`)

test("the stack of a thread in an endless loop is found from outside, also behind an await", async () => {
  expect((await named(await run("turn()"))).slice(0, 2)).toEqual(["turn of looping.mjs?mark", "begin of thread.mjs"])
  expect((await named(await run("later()"))).slice(0, 1)).toEqual(["later of looping.mjs?mark"])
})

test("so is that of a thread that waits for a lock; one that has ended has none", async () => {
  const waiting = await run("wait()")
  expect((await named(waiting)).slice(0, 1)).toEqual(["wait of looping.mjs?mark"])
  await waiting.terminate()
  expect(await named(waiting)).toEqual([])
})
