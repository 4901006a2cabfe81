/**
 * Late is not live: while two recorders are cut off, one killed and one behind a network that passes nothing, and while the API server is out
 * of reach, the cluster lives on, and the truth about it is known. Afterwards every change that was received late says so; its bounds contain the time at
 * which it happened, the estimates come close, and windows inside the outage hold what happened in them.
 *
 * The same tests for every cluster that such things can be done to.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { Recorder } from "../command.ts"
import {
  closeSeconds,
  closeShare,
  isRecorded,
  type JudgedChange,
  judgeTimes,
  judgeWindow,
  liveSeconds,
  type Window,
  worstOf,
} from "./judged-times.ts"
import type { TrueTimes } from "./true-times.ts"

/** s that each outage takes. */
export interface OutageLengths {
  readonly killed: number
  readonly held: number
  readonly down: number
}

/** A cluster, and what can happen to it. */
export interface OutageCluster extends AsyncDisposable {
  readonly truth: TrueTimes
  /** µs by which the truth may be later than a change. */
  readonly observedWithin: number
  /** Starts a recorder of that name, or starts it again with what it has recorded. `held`: behind the network that can be held. */
  readonly record: (name: "killed" | "held") => Promise<Recorder>
  /** Changes of all kinds for so many seconds or more. */
  readonly live: (seconds: number) => Promise<unknown>
  /** Creates a ConfigMap. */
  readonly mark: (name: string) => Promise<unknown>
  /** From now on the network passes nothing, without breaking a connection. */
  readonly hold: () => void
  readonly release: () => void
  /** Recorders cannot reach the API server for so many seconds; changes go on as far as the cluster can, also for some seconds afterwards. */
  readonly outage: (seconds: number) => Promise<unknown>
}

/** Windows of three seconds that begin every second of a time. */
const windowsIn = ({ from, until }: Window): ReadonlyArray<Window> => {
  const windows: Array<Window> = []
  for (let start = from; start + 3e6 <= until; start += 1e6) windows.push({ from: start, until: start + 3e6 })
  return windows
}

interface Covered {
  readonly kinds: ReadonlyArray<{ readonly late: ReadonlyArray<{ readonly events: number }> }>
}

const sumOf = (numbers: ReadonlyArray<number>): number => numbers.reduce((sum, each) => sum + each, 0)

const now = (): number => Date.now() * 1000

export const describeOutages = (start: () => Promise<OutageCluster>, lengths: OutageLengths, limitMs: number): void => {
  let cluster: OutageCluster
  let killed: Recorder
  let held: Recorder
  let marks = 0
  const outages = { killed: { from: 0, until: 0 }, held: { from: 0, until: 0 }, down: { from: 0, until: 0 } }

  beforeAll(async () => {
    cluster = await start()
    ;[killed, held] = await Promise.all([cluster.record("killed"), cluster.record("held")])
  }, limitMs)
  afterAll(async () => {
    await killed?.stop()
    await held?.stop()
    await cluster?.[Symbol.asyncDispose]()
  }, limitMs)

  /** Until both recorders receive changes again. */
  const caughtUp = async (): Promise<void> => {
    const mark = `mark-${marks++}`
    await cluster.mark(mark)
    for (const recorder of [killed, held]) while (!(await isRecorded(recorder.address, mark))) await sleep(250)
  }

  const cutOff = async (): Promise<void> => {
    const life = cluster.live(lengths.killed + 6)
    await sleep(3000)
    cluster.hold()
    await killed.kill()
    const from = now()
    await sleep(lengths.held * 1000)
    outages.held = { from, until: now() }
    cluster.release()
    await sleep(Math.max(0, (lengths.killed - lengths.held) * 1000))
    outages.killed = { from, until: now() }
    killed = await cluster.record("killed")
    await life
    await caughtUp()
  }

  const unreachable = async (): Promise<void> => {
    const from = now()
    await cluster.outage(lengths.down)
    outages.down = { from, until: now() }
    await caughtUp()
  }

  describe.each([
    ["killed", "killed", () => killed, cutOff],
    ["cut off", "held", () => held, undefined],
    ["without an API server", "down", () => held, unreachable],
  ] as const)("a recorder that was %s", (_name, outage, recorder, happens) => {
    let all: ReadonlyArray<JudgedChange> = []
    /** Since the outage began. */
    let judged: ReadonlyArray<JudgedChange> = []
    beforeAll(async () => {
      await happens?.()
      all = await judgeTimes(recorder().address, cluster.truth, cluster.observedWithin)
      judged = all.filter(({ change }) => change.micros >= outages[outage].from)
    }, limitMs)

    test("says of every change that it received late when it can have happened, and estimates when it did", () => {
      const late = judged.filter(({ isLate, isInGap }) => isLate && !isInGap)
      // A restarted API server has forgotten its history, so that the recorder may have to list.
      expect(
        outage === "down" ? judged.filter(({ isInGap }) => isInGap).length + late.length : late.length,
      ).toBeGreaterThan(0)
      expect(late.filter(({ isWithinBounds }) => !isWithinBounds)).toEqual([])
      expect(closeShare(late, closeSeconds), worstOf(late)).toBeGreaterThanOrEqual(0.95)
    })

    test("counts in its metrics what its coverage names", async () => {
      const { address } = recorder()
      const metrics = await (await fetch(`${address}/metrics`)).text()
      const counts = [...metrics.matchAll(/^kubereel_kind_late_total\{[^}]*\} (\d+)$/gm)].map(([, count]) =>
        Number(count),
      )
      const { kinds } = (await (await fetch(`${address}/v1/coverage?start=0`)).json()) as Covered
      const named = kinds.flatMap(({ late }) => late.map(({ events }) => events))
      expect(sumOf(counts)).toBe(sumOf(named))
    })

    test("calls nothing live that is not", () => {
      const live = judged.filter(({ isLate, isInGap }) => !isLate && !isInGap)
      expect(closeShare(live, liveSeconds), worstOf(live)).toBeGreaterThanOrEqual(0.99)
    })

    test(
      "shows windows inside the outage as they were, as far as estimates can tell, and says where they cannot",
      async () => {
        const windows = windowsIn(outages[outage])
        expect(windows.length).toBeGreaterThan(0)
        const differences = []
        for (const window of windows) differences.push(...(await judgeWindow(recorder().address, window, all)))
        expect(differences.filter(({ isExcused }) => !isExcused)).toEqual([])
        expect(differences.filter(({ isAnnounced }) => !isAnnounced)).toEqual([])
      },
      limitMs,
    )
  })
}
