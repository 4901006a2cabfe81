/**
 * Recorders as processes that archive to the servers of object stores, while these and the network are attacked: the stream has what happened, once and in order.
 *
 * `KUBEREEL_TEST_KILLS=50` kills recorders as often, and has both stores away for a minute; `KUBEREEL_TEST_SEED` repeats a run.
 */
import { randomBytes } from "node:crypto"
import { describe, expect, onTestFinished, test, vi } from "vitest"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { patient } from "../../harness/patience.ts"
import { expectLedger } from "../../recorder/recorded/restored-stream.ts"
import { untilArchived } from "../../recorder/recorded/until-archived.ts"
import { Workload } from "../../recorder/recorded/workload.ts"
import { type RecorderProcess, Workplace } from "../../recorder/recorder/recorder-command.ts"
import { seededRandom } from "../../runtime/random.ts"
import { type AttackedStore, attackedAzure, attackedS3 } from "./attacked-store.ts"
import { buildMs, buildServers } from "./programs.ts"
import type { Mishap } from "./store-network.ts"

const kinds = { "apps/v1.Deployment": "{detect: all}", "v1.ConfigMap": "{detect: all}" }
const names = Object.keys(kinds)
const seed = Number(process.env.KUBEREEL_TEST_SEED ?? Date.now() % 1_000_000)
const kills = Number(process.env.KUBEREEL_TEST_KILLS ?? 3)
const isLong = kills > 10
const perSecond = 100

const open = async (start: () => Promise<AttackedStore>) => {
  await buildServers()
  const store = await start()
  const place = new Workplace()
  const sandbox = await Sandbox.start({ bookmarkInterval: 500 })
  const workload = new Workload(sandbox, names, seed)
  const address = store.address("stream")
  const key = place.write("key", randomBytes(32).toString("hex"))
  // For the test's own reader; recorders get theirs.
  for (const [name, value] of Object.entries(store.past)) vi.stubEnv(name, value)
  onTestFinished(() => void vi.unstubAllEnvs())
  const wait = (recorder: RecorderProcess): Promise<void> =>
    untilArchived(recorder, sandbox, {
      ...{ kinds: names, withinMs: 120_000 },
      // On a busy machine an export may be refused for want of time.
      exported: () =>
        recorder.exported().catch((error: Error) => {
          if (!error.message.includes("did not reply")) throw error
          return []
        }),
    })
  return {
    ...{ store, network: store.network, place, sandbox, workload, untilArchived: wait },
    record: (name: string, dataDir = place.path(name)): RecorderProcess => {
      const env = { ...process.env, ...store.through }
      return place.record({
        ...{ cluster: { server: sandbox.url }, kinds, name, dataDir, options: { env } },
        more: ["--archive-to", address, "--archive-every", "1s", "--redact-key-file", key],
      })
    },
    /** Lets something happen that is archived: what follows is in the stream then, or still comes from the API server. */
    begun: async (recorder: RecorderProcess): Promise<void> => {
      for (let step = 0; step < 50; step++) workload.step()
      await wait(recorder)
    },
    segments: async (recorder: RecorderProcess): Promise<number> =>
      (await recorder.metric("kubereel_archive_segment")) ?? 0,
    expectLedger: () => expectLedger(sandbox, address, names),
    [Symbol.asyncDispose]: async () => {
      workload.stop()
      await place.close()
      await sandbox.close()
      await store[Symbol.asyncDispose]()
    },
  }
}

/** Half of the connections are cut somewhere, lose an answer, or are refused. */
const mishaps = (): (() => Mishap | undefined) => {
  const random = seededRandom(seed + 1)
  const below = (limit: number): number => Math.floor(random() * limit)
  return () => {
    // As many cuts within the head of a request as within its body.
    const after = Math.floor(Math.exp(random() * Math.log(60_000)))
    const all = [
      { cut: "request", after },
      { cut: "answer", after },
      { lose: "answer", after: below(4) },
      "refused",
    ] as const
    return all[below(2 * all.length)]
  }
}

describe.each([
  ["S3", attackedS3],
  ["Azure", attackedAzure],
] as const)("%s", (name, start) => {
  test(`${kills} kills while connections are cut at random bytes and answers are lost change nothing (seed ${seed})`, {
    timeout: buildMs + patient(60_000 + kills * 10_000),
  }, async () => {
    await using attack = await open(start)
    const { workload, network, store } = attack
    let [recorder, directory] = [attack.record("0"), attack.place.path("0")]
    await recorder.ready(30_000)
    await attack.begun(recorder)
    network.mishap = mishaps()
    workload.start(perSecond)
    for (let round = 1; round <= kills; round++) {
      await workload.moment(2500)
      await recorder.kill()
      if (workload.below(2) === 0) directory = attack.place.path(String(round))
      recorder = attack.record(`of round ${round}`, directory)
      await recorder.ready(60_000)
      // Now and then the server ends too, in the middle of what it does.
      if (name === "S3" && round % 5 === 3) {
        await store.down()
        await store.up()
      }
    }
    workload.stop()
    await attack.untilArchived(recorder)
    expect(await recorder.stop()).toMatchObject({ code: 0 })
    await attack.expectLedger()
  })

  test.skipIf(name === "Azure" && !isLong)(
    `a store that is away for ${isLong ? "a minute" : "some time"}, full and slow lacks nothing afterwards (seed ${seed})`,
    {
      timeout: buildMs + patient(240_000),
    },
    async () => {
      await using attack = await open(start)
      const { workload, network } = attack
      const recorder = attack.record("only")
      await recorder.ready(30_000)
      await attack.begun(recorder)
      workload.start(perSecond)
      network.mishap = () => "refused"
      network.cut()
      const isFailing = async (): Promise<boolean> => (await recorder.metric("kubereel_archive_failing")) === 1
      await recorder.until(isFailing, "the store to be away", 60_000)
      expect(recorder.log).toContain("the recording cannot be archived")
      const lag = async (): Promise<number> => (await recorder.metric("kubereel_archive_lag_seconds")) ?? 0
      await recorder.until(async () => (await lag()) > (isLong ? 60 : 5), "its lag", 90_000)
      network.mishap = () => undefined
      await attack.untilArchived(recorder)
      expect(await isFailing()).toBe(false)

      network.course = (line) => (line.startsWith("PUT ") ? "full" : "passed")
      await recorder.until(isFailing, "the store to be full", 60_000)
      network.course = () => "passed"
      await attack.untilArchived(recorder)

      const before = await attack.segments(recorder)
      network.mishap = () => ({ pace: 30_000 })
      network.cut()
      await recorder.until(
        async () => (await attack.segments(recorder)) > before + 2,
        "segments on a slow line",
        60_000,
      )
      workload.stop()
      await attack.untilArchived(recorder)
      expect(await recorder.stop()).toMatchObject({ code: 0 })
      await attack.expectLedger()
    },
  )

  test(`a writer that is paused while it uploads is fenced when it wakes, and its upload counts nowhere (seed ${seed})`, {
    timeout: buildMs + patient(120_000),
  }, async () => {
    await using attack = await open(start)
    const { workload, network } = attack
    const first = attack.record("first")
    await first.ready(30_000)
    await attack.begun(first)
    let held = ""
    network.course = (line) => {
      if (held !== "" || !/^PUT .*segments/.test(line)) return "passed"
      held = line
      return "held"
    }
    workload.start(perSecond)
    await first.until(() => held !== "", "an upload")
    first.child.kill("SIGSTOP")
    const second = attack.record("second")
    await second.ready(30_000)
    await second.until(async () => ((await second.metric("kubereel_archive_segments_total")) ?? 0) > 0, "its segment")
    expect(await second.metric("kubereel_archive_epoch")).toBe(2)
    network.release()
    first.child.kill("SIGCONT")
    await first.says(/another recorder has taken the stream over: segment \d+ is of epoch 2/, 30_000)
    expect(await first.ended).toMatchObject({ code: 6 })
    workload.stop()
    await attack.untilArchived(second)
    expect(await second.stop()).toMatchObject({ code: 0 })
    await attack.expectLedger()
  })
})
