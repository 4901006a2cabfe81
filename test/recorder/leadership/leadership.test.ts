/** The states of a recorder with a Lease, on a clock that the test moves: standby, waiting for the directory, leading, lost. */
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { expect, onTestFinished, test } from "vitest"
import { directoryInUse, lockDirectory } from "../../../src/archive/directory/directory-lock.ts"
import { openLeadership } from "../../../src/recorder/leadership/leadership.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { turn } from "../../runtime/until.ts"

const lease = { namespace: "default", name: "recorder", durationMs: 15_000, directoryInUse }

/** A cluster and the clock of all who live in it. */
const open = async () => {
  const clock = new ManualClock()
  const sandbox = await Sandbox.start({ clock, bookmarkInterval: 0 })
  onTestFinished(() => sandbox.close())
  const directory = join(temporaryDirectory(), "data")
  /** Runs for the Lease; can be cut off from the cluster. */
  const candidate = async () => {
    let isCut = false
    const scope = Effect.runSync(Scope.make())
    const lines: string[] = []
    const lost: number[] = []
    let isTaken = false
    const say = (line: string): void => void lines.push(line)
    const log = { debug: say, info: say, warn: say, error: say }
    const server = {
      endpoint: async () => {
        if (isCut) throw new Error("cut off")
        return sandbox.endpoint
      },
      onUnauthorized: async () => undefined,
      problem: undefined,
    }
    const onLost = (withinMs: number): void => void lost.push(withinMs)
    const opening = openLeadership({ lease, directory, server, userAgent: "test", clock, random: () => 0, log, onLost })
    const leadership = await Effect.runPromise(Scope.provide(opening, scope))
    void leadership.taken.then(() => {
      isTaken = true
    })
    const close = () => Effect.runPromise(Scope.close(scope, Exit.void))
    onTestFinished(close)
    return {
      ...{ leadership, lines, lost, close },
      isTaken: () => isTaken,
      isLeader: () => leadership.metrics()[0]?.samples[0]?.value === 1,
      cut: (value: boolean) => {
        isCut = value
      },
    }
  }
  /** Requests take no time compared with the durations of an election. */
  const pass = async (milliseconds: number): Promise<void> => {
    for (let passed = 0; passed <= milliseconds; passed += 500) {
      for (let turns = 0; turns < 12; turns++) await turn()
      if (passed < milliseconds) clock.advance(500)
    }
  }
  return { sandbox, directory, candidate, pass }
}

test("The first recorder takes the Lease at once; the second stands by, and names the first", async () => {
  const { sandbox, candidate, pass } = await open()
  const first = await candidate()
  await pass(0)
  expect([first.isTaken(), first.isLeader()]).toEqual([true, true])
  const second = await candidate()
  await pass(60_000)
  expect([second.isTaken(), second.isLeader()]).toEqual([false, false])
  expect(second.leadership.reason()).toMatch(
    /^standby; \S+_[0-9a-f]{12} holds the Lease default\/recorder since 20\S+\.\d{6}Z$/,
  )
  expect(second.lines).toEqual([second.leadership.reason()])
  expect(sandbox.list("coordination.k8s.io/v1.Lease").map(({ spec }) => spec)).toEqual([
    {
      holderIdentity: /^standby; (\S+) holds/.exec(second.leadership.reason())?.[1],
      leaseDurationSeconds: 15,
      acquireTime: expect.stringMatching(/^20\S+\.\d{6}Z$/),
      renewTime: expect.stringMatching(/^20\S+\.\d{6}Z$/),
      leaseTransitions: 0,
    },
  ])
})

test("A Lease that is released is taken at the next attempt, within 2 s", async () => {
  const { candidate, pass } = await open()
  const first = await candidate()
  await pass(0)
  const second = await candidate()
  await pass(3000)
  await first.close()
  await pass(2000)
  expect([second.isTaken(), second.isLeader(), first.lost]).toEqual([true, true, []])
})

test("A leader that is cut off has to end in half of the time until another one takes over", async () => {
  const { candidate, pass } = await open()
  const first = await candidate()
  await pass(0)
  const second = await candidate()
  await pass(4000)
  first.cut(true)
  await pass(9500)
  expect([first.lost.length, second.isTaken()]).toEqual([0, false])
  await pass(500)
  expect([first.lost, first.isLeader(), second.isTaken()]).toEqual([[2500], false, false])
  await pass(2500)
  // By now the first has ended.
  expect(second.isTaken()).toBe(false)
  // The second saw the last renewal up to an attempt late, and tries again once the Lease has run out.
  await pass(6500)
  expect(second.isTaken()).toBe(true)
  first.cut(false)
  await pass(30_000)
  // It does not run again: it has to end.
  expect([first.lost, first.isLeader(), second.isLeader()]).toEqual([[2500], false, true])
})

test("The directory of a former leader that has not ended is waited for, and its holder named", async () => {
  const { directory, candidate, pass } = await open()
  const paused = lockDirectory(directory, { host: "node-7", pid: 4711, startedAt: "2026-11-26T10:00:00.000Z" })
  const recorder = await candidate()
  await pass(20_000)
  expect([recorder.isTaken(), recorder.isLeader()]).toEqual([false, true])
  expect(recorder.leadership.reason()).toMatch(
    /^standby; this recorder holds the Lease default\/recorder, but data directory .* is in use by another recorder: process 4711 on host node-7, /,
  )
  expect(recorder.lines).toHaveLength(1)
  paused.release()
  await pass(2000)
  expect([recorder.isTaken(), recorder.lines.at(-1)]).toEqual([true, "this recorder holds the Lease default/recorder"])
})

test("A Lease that may not be read is reported once, and again after it could be read", async () => {
  const { candidate, pass } = await open()
  const recorder = await candidate()
  await pass(0)
  const second = await candidate()
  for (const isCut of [true, false, true]) {
    second.cut(isCut)
    await pass(8000)
  }
  const troubles = second.lines.filter((line) => line.includes("cut off"))
  expect([troubles.length, recorder.isLeader(), recorder.lost]).toEqual([2, true, []])
})
