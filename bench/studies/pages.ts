/**
 * What open pages cost a recorder: the time from when a change is due until it is committed, at 5,000 changes a second, without pages and with five that
 * follow what happens now. The pages are the page's own state and questions, without a browser, in a thread of their own.
 *
 *   npx node bench/studies/pages.ts [seconds=20] [pages=5]
 */
import { once } from "node:events"
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads"
import { Asking } from "../../src/ui/shell/asking.ts"
import { httpSource } from "../../src/ui/source/http-source.ts"
import { firstState } from "../../src/ui/state/state.ts"
import { type Input, updated } from "../../src/ui/state/updates.ts"
import { deployments, gvkOf } from "../load/bench-kinds.ts"
import { BenchCluster } from "../load/generator-process.ts"
import { SteadyLoad, sharedMs } from "../load/steady-load.ts"
import { startRecorder } from "../subjects/recorder-subject.ts"

const perSecond = 5000

/** A page of 1,600 by 900 pixels that follows the end. */
const openPage = (
  base: string,
): { readonly close: () => void; readonly failures: () => number; readonly tiles: () => number } => {
  let state = updated(firstState, { type: "resized", rows: 34, width: 1300 })
  let failures = 0
  let tiles = 0
  const send = (input: Input): void => {
    if (input.type === "failed" && input.failure !== undefined) {
      failures++
      console.log(input.about, input.failure.message)
    }
    if (input.type === "tile") tiles++
    state = updated(state, input)
    setImmediate(() => asking.follow(state))
  }
  const later = (milliseconds: number, run: () => void): (() => void) => {
    const timer = setTimeout(run, milliseconds)
    return () => clearTimeout(timer)
  }
  const source = httpSource({ base, fetch, token: () => undefined })
  const asking = new Asking(source, { send, later, isHidden: () => false })
  asking.follow(state)
  return { close: () => asking.close(), failures: () => failures, tiles: () => tiles }
}

const measure = async (seconds: number, pages: number): Promise<void> => {
  await using cluster = await BenchCluster.start({})
  await using recorder = await startRecorder(cluster, { kinds: [gvkOf(deployments)] })
  await cluster.during(recorder.listed(120_000))
  using load = new SteadyLoad(cluster, recorder, perSecond)
  const stretch = async (): Promise<readonly [fromMs: number, untilMs: number]> => {
    const fromMs = sharedMs() + 1000
    await load.during(seconds + 1)
    return [fromMs, sharedMs()]
  }
  await load.during(5)
  const before = await stretch()
  const opened = new Worker(new URL(import.meta.url), { workerData: { base: `${recorder.server}/ui/`, pages } })
  const during = await stretch()
  opened.postMessage("close")
  const [asked] = await once(opened, "message")
  await opened.terminate()
  const after = await stretch()
  const ended = await load.end()
  for (const [name, period] of Object.entries({ before, during, after }))
    console.log(name, JSON.stringify(ended.latency(...period)))
  for (const page of asked) console.log(`a page: ${page.tiles} tiles, ${page.failures} failures`)
}

const open = ({ base, pages }: { readonly base: string; readonly pages: number }): void => {
  const opened = Array.from({ length: pages }, () => openPage(base))
  parentPort?.once("message", () => {
    for (const page of opened) page.close()
    parentPort?.postMessage(opened.map((page) => ({ tiles: page.tiles(), failures: page.failures() })))
  })
}

const [seconds = 20, pages = 5] = process.argv.slice(2).map(Number)
if (isMainThread) await measure(seconds, pages)
else open(workerData)
