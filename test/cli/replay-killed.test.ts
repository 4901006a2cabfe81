/** `reel replay` killed with SIGKILL, into a sandbox in another process: `--clean` removes everything. */
import { afterAll, beforeAll, expect, test } from "vitest"
import { patient } from "../harness/patience.ts"
import { Workplace } from "../recorder/recorder/recorder-command.ts"
import { killAndClean, type Read } from "../simulation/killed-replay.ts"

let place: Workplace
let url: string
beforeAll(async () => {
  place = new Workplace()
  const sandbox = place.reel("sandbox", "--listen", "0", "--nodes", "1", "--kubeconfig", place.path("kubeconfig"))
  url = (await sandbox.says(/http:\/\/127\.0\.0\.1:\d+/))[0]
}, patient(15_000))
afterAll(() => place.close())

const read: Read = async (path) => {
  const response = await fetch(url + path)
  if (response.status === 404) return undefined
  return response.json()
}

/** The seed is written kind by kind, ConfigMaps before these. */
const later = ["deployments virtual-killed-1/web", "gadgets /virtual-wheel"]

test.each([
  ["seeding", []],
  ["replaying", later],
] as const)(
  "leaves nothing when it was killed while %s",
  async (phase, more) => {
    const killed = await killAndClean({ place, read, kubeconfig: place.path("kubeconfig"), id: "1" }, phase)
    expect(killed.signal).toBe("SIGKILL")
    // In the middle: some objects were written, and some were not.
    expect(killed.atDeath).toBeGreaterThanOrEqual(20)
    expect(killed.atDeath).toBeLessThan(killed.objects)
    expect(killed.left).toEqual(
      expect.arrayContaining([
        "customresourcedefinitions /gadgets.k1.example.com",
        "namespaces /virtual-other-1",
        "priorityclasses /virtual-fast-1",
        ...more,
      ]),
    )
    expect([killed.code, killed.said]).toEqual([
      0,
      expect.stringMatching(/^removed [56] labelled objects of replay killed-/),
    ])
    expect(killed.leftAfterwards).toEqual([])
  },
  patient(30_000),
)
