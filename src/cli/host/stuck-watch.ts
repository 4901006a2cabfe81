/**
 * Ends this process if its event loop does not turn any more: modules that are rehearsed run on the main thread, where nothing else can end one that never
 * returns, not even a signal that a program handles.
 */
import { Worker } from "node:worker_threads"

/** ms without a turn after which the process counts as stuck. What is computed between two turns of a rehearsal takes far less. */
const stuckMs = 30_000
/** ms between two signs of life. */
const beatMs = 500

/** Runs in a thread of its own. As text, because the command has no entry of its own for so little. */
const watching = `
const { workerData: { beats, stuckMs, name } } = require("node:worker_threads")
const view = new Int32Array(beats)
for (;;) {
  const seen = Atomics.load(view, 0)
  if (Atomics.wait(view, 0, seen, stuckMs) !== "timed-out") continue
  require("node:fs").writeSync(2, name + ": a module has not returned for " + stuckMs / 1000 + " s, so the rehearsal is ended\\n")
  process.kill(process.pid, "SIGKILL")
}`

/** Watches until it is disposed of. `name`: of the command, for the last line on standard error. The exit code is then that of SIGKILL. */
export const watchForStuck = (name: string, afterMs = stuckMs): Disposable => {
  const beats = new SharedArrayBuffer(4)
  const view = new Int32Array(beats)
  const worker = new Worker(watching, { eval: true, workerData: { beats, stuckMs: afterMs, name }, execArgv: [] })
  worker.unref()
  const beat = setInterval(() => {
    Atomics.add(view, 0, 1)
    Atomics.notify(view, 0)
  }, beatMs)
  beat.unref()
  return {
    [Symbol.dispose]: () => {
      clearInterval(beat)
      void worker.terminate()
    },
  }
}
