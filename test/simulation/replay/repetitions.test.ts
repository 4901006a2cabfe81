/** Repeated replays into a cluster in this process. */
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { LocalCluster } from "../../../src/sandbox/index.ts"
import { Repetitions, type RepetitionsOptions } from "../../../src/simulation/replay/repetitions.ts"
import type { ReplayReport } from "../../../src/simulation/report/replay-report.ts"
import type { TraceItem } from "../../../src/trace/index.ts"
import { patient } from "../../harness/patience.ts"
import { configMap, header, start } from "../trace-items.ts"
import { plainReplay } from "./plain-replay.ts"

let cluster: LocalCluster
beforeEach(async () => {
  cluster = await LocalCluster.start({ nodes: 1 })
})
afterEach(() => cluster.close())

async function* trace(): AsyncGenerator<ReadonlyArray<TraceItem>, void> {
  yield [header(30), configMap(-1, "a", "0"), configMap(10, "a", "1")]
}

const repeated = (options: Partial<RepetitionsOptions> = {}): Repetitions => {
  const { items: _, startsPaused: __, ...plain } = plainReplay(cluster.client, "test", trace(), start + 1e9)
  const more = { repetitions: 3, open: async () => trace(), onRepetition: () => undefined }
  return new Repetitions({ ...plain, ...more, ...options })
}

const value = (): unknown => cluster.sandbox.get("v1.ConfigMap", "virtual-shop", "a")?.data

const isLeft = (): boolean => cluster.sandbox.get("v1.Namespace", "", "kubereel-replay-test") !== undefined

describe("a repeated replay", { timeout: patient(30_000) }, () => {
  test("creates the state at the start anew each time, after everything was removed", async () => {
    const seen: unknown[] = []
    const reports = await repeated({
      onProgress: ({ phase, accepted, pending }) => {
        if (phase === "replaying" && accepted === 0 && pending === 0) seen.push(value())
      },
      onRepetition: () => expect(isLeft()).toBe(false),
      speed: 1,
    }).run()
    expect(reports.map(({ seed, events }) => [seed.accepted, events.accepted])).toEqual([
      [1, 1],
      [1, 1],
      [1, 1],
    ])
    expect(new Set(seen.map((each) => JSON.stringify(each)))).toEqual(new Set(['{"value":"0"}']))
    expect(seen.length).toBeGreaterThanOrEqual(3)
  })

  test("keeps only what the last one created", async () => {
    const left: boolean[] = []
    await repeated({ keep: true, repetitions: 2, onRepetition: () => left.push(isLeft()) }).run()
    expect([left, value()]).toEqual([[false, true], { value: "1" }])
  })

  test("goes on for ever until it is interrupted, and keeps what is there then if that is wanted", async () => {
    const abort = new AbortController()
    const run = repeated({
      repetitions: Number.POSITIVE_INFINITY,
      keep: true,
      signal: abort.signal,
      onProgress: ({ phase }) => run.number === 2 && phase === "replaying" && abort.abort(),
    })
    expect((await run.run()).map(({ stopped }) => stopped)).toEqual([null, "interrupted"])
    expect(isLeft()).toBe(true)
  })

  test("ends the reading of each repetition with it, although the trace is silent and has not ended", async () => {
    const readings: AbortSignal[] = []
    const ended: boolean[] = []
    const run = repeated({
      repetitions: 2,
      isPipe: true,
      speed: 1000,
      window: { from: undefined, to: start + 20_000, duration: undefined, now: start + 1e9 },
      open: async (signal) => {
        readings.push(signal)
        return (async function* () {
          yield* trace()
          await new Promise((resolve) => signal.addEventListener("abort", resolve))
        })()
      },
      onRepetition: () => ended.push(readings.at(-1)?.aborted === true),
    })
    await run.run()
    expect(ended).toEqual([true, true])
  })

  test("ends when something was not removed", async () => {
    cluster.sandbox.faults.respond("storageclasses", 403)
    const left: unknown[] = []
    const reports = await repeated({ onRemovalFailed: (error) => left.push(error) }).run()
    expect([reports.length, left.length]).toEqual([1, 1])
  })

  test("makes steps that were requested before it and between repetitions, and has none left at the end", async () => {
    const run = repeated({
      repetitions: 2,
      onRepetition: () => {
        if (run.number < 2) run.step(2)
      },
    })
    expect(run.isOver).toBe(false)
    run.step()
    run.pause()
    // The change, and the end of the trace.
    run.step()
    run.step()
    const reports = await run.run()
    expect(reports.map(({ events }) => events.accepted)).toEqual([1, 1])
    expect([run.isPaused, run.isOver]).toEqual([true, true])
  })

  test("drops steps that were requested before it when it is resumed", async () => {
    const run = repeated({ repetitions: 1, onProgress: ({ phase }) => phase === "seeding" && run.pause() })
    run.pause()
    run.step(2)
    run.resume()
    const ended = run.run()
    await expect.poll(() => [run.current?.progress.phase, run.isPaused]).toEqual(["replaying", true])
    expect([run.isOver, run.current?.outcomes?.events.counts.total]).toEqual([false, 0])
    run.resume()
    await ended
  })

  test("keeps its speed, and stays paused from one to the next", async () => {
    const reports: ReplayReport[] = []
    const run = repeated({
      repetitions: 2,
      onRepetition: (report) => {
        reports.push(report)
        run.setSpeed(20)
        run.pause()
      },
      onProgress: ({ phase, isPaused }) => {
        if (run.number === 2 && phase === "replaying" && isPaused) run.resume()
      },
    })
    await run.run()
    expect(reports.map(({ speed }) => speed)).toEqual(["max", 20])
    expect(reports[1]?.run.pausedMs).toBeGreaterThan(0)
    expect(reports[1]?.run.expectedMs).toBe(1.5)
  })
})
