/** `reel replay` killed with SIGKILL, into a real cluster: `--clean` removes everything. */
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, expect, test } from "vitest"
import { Workplace } from "../../recorder/recorder/recorder-command.ts"
import { killAndClean, type Read } from "../../simulation/killed-replay.ts"
import { open, readText } from "../connection.ts"
import { openTestCluster, type TestCluster } from "../guard.ts"

let cluster: TestCluster
let place: Workplace
beforeAll(async () => {
  cluster = await openTestCluster()
  place = new Workplace()
})
afterAll(() => place?.close())

const read: Read = async (path) => {
  for (;;) {
    const response = await open(cluster.connection, path)
    const text = await readText(response)
    if (response.statusCode === 404) return undefined
    if (response.statusCode === 200) return JSON.parse(text)
    // The storage of a custom kind that is seconds old is not ready yet.
    if (response.statusCode !== 429) throw new Error(`GET ${path}: ${response.statusCode} ${text}`)
    await sleep(200)
  }
}

test.each(["seeding", "replaying"] as const)("leaves nothing when it was killed while %s", async (phase) => {
  const { kubeconfig } = cluster
  const killed = await killAndClean({ place, read, kubeconfig, id: String(process.pid) }, phase)
  expect(killed.signal).toBe("SIGKILL")
  expect(killed.atDeath).toBeGreaterThanOrEqual(20)
  expect(killed.atDeath).toBeLessThan(killed.objects)
  expect(killed.left.length).toBeGreaterThan(20)
  expect([killed.code, killed.said]).toEqual([
    0,
    expect.stringMatching(/^removed [56] labelled objects of replay killed-/),
  ])
  expect(killed.leftAfterwards).toEqual([])
})
