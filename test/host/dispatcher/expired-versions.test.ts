/**
 * A guest that watches from an expired version whenever its watch ends, which a correct one would not do: it gets a 410 each time, later and later, and
 * no other module notices. In real threads, over real HTTP.
 */
import { expect, onTestFinished, test } from "vitest"
import { type Clock, systemClock } from "../../../src/clock.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { eventually } from "../../harness/eventually.ts"
import { patient } from "../../harness/patience.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { hostOn } from "./host-on.ts"
import { buildOddGuest } from "./odd-guests.ts"

/** ms, so long that no other timer of the host is taken for one of these. */
const firstPauseMs = 1_000_000
const expiredWatch = {
  initialMs: firstPauseMs,
  maximumMs: 4 * firstPauseMs,
  factor: 2,
  jitter: 0,
  resetAfterMs: 1000 * firstPauseMs,
}

test("a guest that watches from an expired version again and again is told so each time, less and less often, and its neighbours go on", {
  timeout: patient(20_000),
}, async () => {
  const sandbox = await Sandbox.start({ bookmarkInterval: 0 })
  const pauses: Array<{ readonly delayMs: number; readonly end: () => void }> = []
  const clock: Clock = {
    ...systemClock,
    after(delayMs, end) {
      if (delayMs < firstPauseMs / 2) return systemClock.after(delayMs, end)
      pauses.push({ delayMs, end })
      return { cancel: () => undefined }
    },
  }
  const logs = new Map<string, string[]>([
    ["stubborn", []],
    ["neighbour", []],
  ])
  const linesOf = (name: string): ReadonlyArray<string> => logs.get(name) ?? []
  const host = hostOn(sandbox, {
    clock,
    policy: { expiredWatch },
    onLog: (name, _stream, line) => void logs.get(name)?.push(line),
  })
  onTestFinished(async () => {
    await host.close()
    await sandbox.close()
  })
  const put = (name: string): void =>
    void sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name }, data: { at: String(Math.random()) } })
  for (const name of ["a", "b", "c"]) put(name)
  const directory = temporaryDirectory()
  const add = (name: string, codePath: string): Promise<void> =>
    host.add({ file: { name, abi: "rust_v1alpha1", env: [], limits: {} }, codePath })
  await add("neighbour", buildOddGuest(directory, { namespace: "shop" }))
  await eventually(() => expect(linesOf("neighbour")).toHaveLength(4))
  await add("stubborn", buildOddGuest(directory, { namespace: "shop", resourceVersion: "1" }))

  const round = [expect.stringMatching(/^\{"type":"ERROR",.*"code":410/), "end"]
  // The first two come at once; then it pauses.
  for (const [index, expected] of [1, 2, 4, 4].entries()) {
    await eventually(() => expect(pauses).toHaveLength(1))
    const [{ delayMs, end }] = pauses.splice(0) as [(typeof pauses)[number]]
    expect(Math.round(delayMs / firstPauseMs)).toBe(expected)
    expect(linesOf("stubborn")).toEqual(["run", ...Array.from({ length: index + 2 }, () => round).flat()])
    put(`sign-${index}`)
    await eventually(() => expect(linesOf("neighbour").at(-1)).toMatch(new RegExp(`^ADDED sign-${index} `)))
    end()
  }
  // Both share one watch at the server.
  expect((await host.hubStatistics())?.upstreams).toHaveLength(1)
  const [stubborn] = (await host.statistics()).filter(({ name }) => name === "stubborn")
  expect(stubborn).toMatchObject({ phase: "running", restarts: 0, missed: 0 })
})
