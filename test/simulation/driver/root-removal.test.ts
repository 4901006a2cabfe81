/** The end of the root of a repetition, which owns what the repetition created. */
import { expect, test } from "vitest"
import { systemClock } from "../../../src/clock.ts"
import { simulationRoot } from "../../../src/simulation/driver/simulation-watch.ts"
import { DriverFailure } from "../../../src/simulation/index.ts"
import { stageOf, startCluster } from "../../cli/driver/driven-cluster.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"

test("a removal that ends without an answer of the API server says what is left, and how to find it", async () => {
  const cluster = await startCluster()
  try {
    await using stage = await stageOf(cluster, "sk", temporaryDirectory(), {})
    const { signal } = new AbortController()
    const options = { clock: systemClock, simulation: stage.simulation, pod: "sk-pod", replay: "sk-pod", signal }
    const keeper = simulationRoot({ ...options, client: cluster.client })
    await keeper.create()
    const given = await keeper.remove({ signal: AbortSignal.abort() }).catch((error: unknown) => error)
    expect(given).toBeInstanceOf(DriverFailure)
    expect(String(given)).toMatch(
      /not everything that was replayed for the Simulation sk is gone .*=sk-pod: remove those/,
    )
  } finally {
    await cluster.close()
  }
})
