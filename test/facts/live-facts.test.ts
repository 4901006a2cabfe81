/** Facts of a recorder's own directory, while it records and archives: they keep up, and lack and repeat nothing. */
import { expect, test } from "vitest"
import { LiveChanges, QueriedRecording } from "../../src/archive/index.ts"
import { makeFacts } from "../../src/facts/index.ts"
import { Sandbox } from "../../src/sandbox/index.ts"
import { patient } from "../harness/patience.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { RecordedSandbox, tracked } from "../recorder/recorded/recorded-sandbox.ts"
import { Workload } from "../recorder/recorded/workload.ts"
import { until } from "../recorder/recorder/recorder-command.ts"
import { askFacts, directoryStore } from "./made-facts.ts"

const kinds = ["apps/v1.Deployment", "v1.ConfigMap"]

const segmentsOf = async (passes: ReturnType<typeof makeFacts>): Promise<number> => {
  const { value } = await passes.next()
  return value?.segments ?? 0
}

test("facts of a recording that goes on keep up with it", { timeout: patient(60_000) }, async () => {
  const sandbox = await Sandbox.start({ bookmarkInterval: 500 })
  const [directory, address] = [temporaryDirectory(), temporaryDirectory()]
  const stream = await directoryStore(address)
  const workload = new Workload(sandbox, kinds, 3)
  const recorder = await RecordedSandbox.of(sandbox, {
    ...{ kinds: kinds.map((kind) => tracked(kind)), directory },
    archive: { address, everyMs: 50, clusterUid: async () => "cluster-1" },
  })
  try {
    await recorder.ready()
    const passes = makeFacts({ stream, target: stream, directory, cluster: "live" })
    for (let round = 1; round <= 3; round++) {
      for (let step = 0; step < 200; step++) workload.step()
      await recorder.caughtUp()
      const fromMs = performance.now()
      await until(
        () => (recorder.actors.archive?.lagSeconds ?? Number.POSITIVE_INFINITY) * 1000 < performance.now() - fromMs,
        () => "everything to be archived",
      )
      for (let isBehind = true; isBehind; ) isBehind = (await segmentsOf(passes)) > 0
      const recording = QueriedRecording.open(directory)
      const changes = [...new LiveChanges(recording, { after: 0, withBefore: false }).toCut()].flatMap((item) =>
        item !== undefined && "event" in item ? [{ sequence: item.event.sequence, name: item.event.name }] : [],
      )
      recording.close()
      expect(changes.length).toBeGreaterThan(100 * round)
      expect(await askFacts(address, "SELECT sequence, name FROM changes ORDER BY sequence")).toEqual(changes)
    }
    await passes.return()
  } finally {
    await recorder.stopRecording()
    stream.close()
    await sandbox.close()
  }
})
