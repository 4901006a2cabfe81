/** Recorders that archive to a store that is slow, refuses, cuts connections, loses answers and is away for a while: the stream has what happened, once and in order. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, onTestFinished, test, vi } from "vitest"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { patient } from "../../harness/patience.ts"
import { until } from "../recorder/recorder-command.ts"
import { FailingStore, type Treatment } from "./failing-store.ts"
import { RecordedSandbox, tracked } from "./recorded-sandbox.ts"
import { expectLedger } from "./restored-stream.ts"
import { Workload } from "./workload.ts"

const kinds = ["apps/v1.Deployment", "v1.ConfigMap"]
const address = "s3://bucket/stream"
const seed = Number(process.env.KUBEREEL_TEST_SEED ?? Date.now() % 1_000_000)

const record = (sandbox: Sandbox): Promise<RecordedSandbox> => {
  const directory = mkdtempSync(join(tmpdir(), "kubereel-failing-store-"))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return RecordedSandbox.of(sandbox, {
    ...{ kinds: kinds.map((kind) => tracked(kind)), directory },
    archive: { address, everyMs: 100, clusterUid: async () => "cluster" },
  })
}

const archived = async (recorder: RecordedSandbox): Promise<void> => {
  await recorder.caughtUp()
  const fromMs = performance.now()
  await until(
    () => (recorder.actors.archive?.lagSeconds ?? Number.POSITIVE_INFINITY) * 1000 < performance.now() - fromMs,
    () => `everything to be archived: ${JSON.stringify(recorder.actors.archive)}`,
    120_000,
  )
}

test(`whatever a store does to requests, nothing is lost, doubled or out of order, also when the stream is taken over meanwhile (seed ${seed})`, {
  timeout: patient(240_000),
}, async () => {
  await using store = await FailingStore.start()
  for (const [name, value] of Object.entries(store.environment)) vi.stubEnv(name, value)
  onTestFinished(() => void vi.unstubAllEnvs())
  const sandbox = await Sandbox.start({ bookmarkInterval: 500 })
  const workload = new Workload(sandbox, kinds, seed)
  const ill: ReadonlyArray<Treatment> = ["well", "well", "well", "well", "cut", "lost", "refused", "slow"]
  const isIll = (): Treatment => ill[workload.below(ill.length)] ?? "well"
  const steps = (count: number): void => {
    for (let step = 0; step < count; step++) workload.step()
  }
  try {
    const first = await record(sandbox)
    await first.ready()
    steps(50)
    await archived(first)
    workload.start(100)
    store.treat = isIll
    const segment = first.actors.archive?.segment ?? 0
    await until(() => (first.actors.archive?.segment ?? 0) > segment + 5, "segments in spite of it", 120_000)
    // Away for as long as requests are sent again, and longer.
    store.treat = () => "cut"
    await until(() => first.actors.archive?.trouble !== undefined, "the trouble to be told", 60_000)
    expect(first.actors.archive?.lagSeconds).toBeGreaterThan(5)
    store.treat = isIll
    await archived(first)
    const second = await record(sandbox)
    await second.ready()
    workload.stop()
    await archived(second)
    expect(second.actors.archive?.epoch).toBeGreaterThan(1)
    await first.stopRecording()
    await second.stopRecording()
    for (const treatment of ["well", "cut", "lost", "refused", "slow"] as const)
      expect(store.seen[treatment], treatment).toBeGreaterThan(0)
    store.treat = () => "well"
    await expectLedger(sandbox, address, kinds)
  } finally {
    workload.stop()
    await sandbox.close()
  }
})
