/** Recorders as processes that archive: killed, paused and taken over; the stream has what happened, once and in order. */
import { randomBytes } from "node:crypto"
import { mkdirSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { load, rounds } from "../../harness/effort.ts"
import { patient } from "../../harness/patience.ts"
import { type RecorderProcess, Workplace } from "../recorder/recorder-command.ts"
import { expectLedger } from "./restored-stream.ts"
import { untilArchived } from "./until-archived.ts"
import { Workload } from "./workload.ts"

const kinds = { "apps/v1.Deployment": "{detect: all}", "v1.ConfigMap": "{detect: all}" }
const seed = Number(process.env.KUBEREEL_TEST_SEED ?? Date.now() % 1_000_000)
const perSecond = load(1000)
const kills = rounds(12)

const open = async () => {
  const place = new Workplace()
  const sandbox = await Sandbox.start({ bookmarkInterval: 500 })
  const workload = new Workload(sandbox, Object.keys(kinds), seed)
  const address = place.path("stream")
  mkdirSync(address)
  // With a key of its own, as each directory otherwise has, a recorder lists anew what another one has redacted.
  const key = place.write("key", randomBytes(32).toString("hex"))
  const wait = (recorder: RecorderProcess) => untilArchived(recorder, sandbox, { kinds: Object.keys(kinds) })
  return {
    ...{ place, sandbox, workload, address },
    record: (name: string, dataDir = place.path(name), of: ReadonlyArray<string> = []): RecorderProcess =>
      place.record({
        ...{ cluster: { server: sandbox.url }, kinds, name, dataDir },
        more: ["--archive-to", address, "--archive-every", "1s", "--redact-key-file", key, ...of],
      }),
    /**
     * Lets something happen that is archived: what follows is in the stream then, or still comes from the API server. A recorder with an empty directory would
     * begin with lists of its own as long as the stream has none.
     */
    begun: async (recorder: RecorderProcess): Promise<void> => {
      for (let step = 0; step < 50; step++) workload.step()
      await wait(recorder)
    },
    archived: async (recorder: RecorderProcess): Promise<void> => {
      workload.stop()
      await wait(recorder)
    },
    [Symbol.asyncDispose]: async () => {
      workload.stop()
      await place.close()
      await sandbox.close()
    },
  }
}

test(`${kills} kills at random moments, each followed by the same directory or by an empty one, lose and double nothing (seed ${seed})`, {
  timeout: patient(240_000),
}, async () => {
  await using pair = await open()
  const { workload } = pair
  let [recorder, directory] = [pair.record("0"), pair.place.path("0")]
  await recorder.ready()
  await pair.begun(recorder)
  workload.start(perSecond)
  for (let round = 1; round <= kills; round++) {
    await workload.moment(2500)
    await recorder.kill()
    if (workload.below(2) === 0) directory = pair.place.path(String(round))
    recorder = pair.record(`of round ${round}`, directory)
    await recorder.ready(30_000)
  }
  await pair.archived(recorder)
  expect(await recorder.stop()).toMatchObject({ code: 0 })
  await expectLedger(pair.sandbox, pair.address, Object.keys(kinds))
})

test("one that is paused and taken over is fenced when it wakes, and its directory makes place at its next start", {
  timeout: patient(120_000),
}, async () => {
  await using pair = await open()
  const { workload } = pair
  const first = pair.record("first")
  await first.ready()
  await pair.begun(first)
  workload.start(perSecond)
  const lists = (await first.metric("kubereel_archive_segment")) ?? 0
  await first.until(async () => ((await first.metric("kubereel_archive_segment")) ?? 0) > lists, "another segment")
  first.child.kill("SIGSTOP")
  const second = pair.record("second")
  await second.ready(30_000)
  await second.until(async () => ((await second.metric("kubereel_archive_segments_total")) ?? 0) > 0, "its segment")
  expect(await second.metric("kubereel_archive_epoch")).toBe(2)
  first.child.kill("SIGCONT")
  await first.says(/another recorder has taken the stream over: segment \d+ is of epoch 2/, 30_000)
  expect(await first.ended).toMatchObject({ code: 6 })
  expect(await second.stop()).toMatchObject({ code: 0 })
  const third = pair.record("first")
  await third.ready(30_000)
  await pair.archived(third)
  expect(await third.metric("kubereel_archive_epoch")).toBe(3)
  expect(await third.stop()).toMatchObject({ code: 0 })
  expect(readdirSync(join(pair.place.directory, "first"))).toContainEqual(expect.stringMatching(/^replaced-\d{8}T/))
  await expectLedger(pair.sandbox, pair.address, Object.keys(kinds))
})

test("another number of shards is refused before anything is added to the stream", {
  timeout: patient(120_000),
}, async () => {
  await using cluster = await open()
  const { address, place } = cluster
  const segments = join(address, "shard-0", "segments")
  const own = cluster.record("own", undefined, ["--shard", "0/1"])
  await own.ready(30_000)
  await cluster.begun(own)
  await own.kill()
  const before = readdirSync(segments)
  // The directory is of 0/1; an empty one is restored first.
  for (const [name, facts] of [
    ["own", /the recording in .*own is of shard 0\/1 and cannot be continued as shard 0\/2: give another/],
    ["empty", /the stream is of shard 0\/1 and cannot be continued as shard 0\/2; give another address/],
  ] as const) {
    const other = cluster.record(name, place.path(name), ["--shard", "0/2"])
    expect(await other.ended).toMatchObject({ code: 2 })
    expect(other.log).toMatch(facts)
  }
  expect(readdirSync(segments)).toEqual(before)
  await cluster.record("own", undefined, ["--shard", "0/1"]).ready(30_000)
})
