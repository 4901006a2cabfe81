/** Servers that refuse, stall or restart in the middle of a replay: it goes on, and ends in the trace's state. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { openTarget } from "../../../src/cli/replay/replay-target.ts"
import { LocalCluster, type Sandbox, writeKubeconfig } from "../../../src/sandbox/index.ts"
import { Replay } from "../../../src/simulation/replay/replay.ts"
import type { ReplayReport } from "../../../src/simulation/report/replay-report.ts"
import type { TraceItem } from "../../../src/trace/index.ts"
import { eventually } from "../../harness/eventually.ts"
import { patient } from "../../harness/patience.ts"
import { differences, stateAt } from "../trace-state.ts"
import { plainReplay } from "./plain-replay.ts"
import { change, chunks, traceOf, withLastingOwners } from "./random-trace.ts"

/** Changes of the trace, one every 4 ms. */
const length = 120
const end = 1_900_000_000_000_000

/** Called after every write of the replay, with how many there were. */
type Sabotage = (sandbox: Sandbox, settled: number) => void

/** Replays at speed 1 with the client of the command, whose repetitions are what has to be enough. */
const replayWith = async (items: ReadonlyArray<TraceItem>, sabotage: Sabotage): Promise<ReplayReport> => {
  const directory = await mkdtemp(join(tmpdir(), "kubereel-faults-"))
  await using cluster = await LocalCluster.start({ nodes: 1 })
  const { sandbox } = cluster
  await writeKubeconfig(join(directory, "kubeconfig"), sandbox.url)
  await using target = await openTarget({
    kubeconfig: join(directory, "kubeconfig"),
    context: undefined,
    concurrency: 8,
  })
  try {
    let settled = 0
    const report = await new Replay({
      ...plainReplay(target.client, "faulty", chunks(items), end),
      speed: 1,
      keep: true,
      onProgress: ({ accepted, refused, phase }) => {
        if (phase !== "replaying" || accepted + refused === settled) return
        settled = accepted + refused
        sabotage(sandbox, settled)
      },
    }).run()
    sandbox.faults.clear()
    const kinds = new Set(items.flatMap((item) => (item.type === "header" ? item.kinds : [])))
    // A deleted claim is there until the cluster has taken its finalizer away.
    await eventually(async () => expect(await differences(target.client, stateAt(items), kinds)).toEqual([]))
    expect(report).toMatchObject({ stopped: null, refused: [] })
    return report
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

const [trace = []] = fc.sample(
  fc
    .array(change, { minLength: length, maxLength: length })
    .map((changes) => traceOf(withLastingOwners(changes), 4000)),
  1,
)

describe.concurrent("a replay ends in the trace's state although the server", () => {
  test(
    "refuses every tenth write for a moment",
    async () => {
      let refused = 0
      await replayWith(trace, (sandbox, settled) => {
        if (settled % 9 !== 0) return
        sandbox.faults.respond("*", [503, 500, 503, 429][refused++ % 4] ?? 503, { verb: "patch", times: 1 })
      })
      expect(refused).toBeGreaterThan(5)
    },
    patient(20_000),
  )

  test(
    "does not answer for two seconds",
    async () => {
      let isStalled = false
      const { run, lagMs } = await replayWith(trace, ({ faults }, settled) => {
        if (isStalled || settled < 30) return
        isStalled = true
        faults.blackHole()
        setTimeout(() => faults.resume(), 2000)
      })
      expect(lagMs.max).toBeGreaterThan(1900)
      // Late, but not put off.
      expect(run.delayedMs).toBe(0)
    },
    patient(20_000),
  )

  test(
    "is restarted, and away for half a second",
    async () => {
      let isDown = false
      const { lagMs } = await replayWith(trace, ({ faults }, settled) => {
        if (isDown || settled < 30) return
        isDown = true
        void faults.refuseConnections().then(() => setTimeout(() => void faults.acceptConnections(), 500))
      })
      expect(lagMs.max).toBeGreaterThan(400)
    },
    patient(20_000),
  )
})
