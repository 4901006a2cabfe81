/** What a rehearsal cannot be made of, and what it says then. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { simplePods } from "../../examples/host/typescript/simplepod-controller.ts"
import { defineController, InvalidControllerError } from "../../src/host/controllers.ts"
import { KindNotInTrace, RehearsalStalled, replayInto } from "../../src/library/rehearsal.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { simplePod, simplePodDefinition, traceOf } from "./history.ts"

const trace = traceOf([
  { at: 0, isSnapshot: true, object: simplePodDefinition },
  { at: 1, object: simplePod("web", "nginx") },
])

describe("A rehearsal is refused", () => {
  test("without a trace", async () => {
    const directory = temporaryDirectory()
    await expect(replayInto(simplePods, join(directory, "none.ndjson"))).rejects.toThrow(/file not found/)
    await expect(replayInto(simplePods, directory)).rejects.toThrow(/it is a directory, but it is empty/)
    writeFileSync(join(directory, "text"), "no trace at all")
    await expect(replayInto(simplePods, join(directory, "text"))).rejects.toThrow(/not in a known trace format/)
  })

  test("for a controller of a kind that the trace does not have, before anything happens", async () => {
    const services = defineController({
      name: "services",
      for: "v1.Service",
      reconcile: () => {
        throw new Error("never called")
      },
    })
    const refused = await replayInto(services, trace).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(KindNotInTrace)
    expect(String(refused)).toMatch(/services is for v1\.Service, of which the trace has nothing: it has .*SimplePod/)
    // A trace that does not say which kinds it has is read to its end.
    const silent = trace.filter(({ type }) => type !== "header")
    await expect(replayInto(services, silent)).rejects.toBeInstanceOf(KindNotInTrace)
  })

  test("for a window outside of the trace, and for a time that is none", async () => {
    await expect(replayInto(simplePods, trace, { from: "2027-01-01T00:00:00Z" })).rejects.toThrow(/must overlap it/)
    await expect(replayInto(simplePods, trace, { to: "yesterday" })).rejects.toThrow(
      /to: "yesterday" is not a valid time/,
    )
  })

  test("for two controllers of one name", async () => {
    await expect(replayInto([simplePods, simplePods], trace)).rejects.toBeInstanceOf(InvalidControllerError)
  })
})

test("A run that waits for something outside is given up, by name", async () => {
  const stuck = defineController({
    name: "stuck",
    for: "slinky.dev/v1.SimplePod",
    reconcile: () => new Promise<void>(() => undefined),
  })
  const given = await replayInto(stuck, trace, { stallMs: 500 }).catch((error: unknown) => error)
  expect(given).toBeInstanceOf(RehearsalStalled)
  expect(String(given)).toMatch(/stood at 2026-01-01T00:00:01\.000Z .* stuck \(1 keys\) do not come to rest/)
})

test("A controller that always asks for another run at once leaves time to pass, and the rehearsal to end", async () => {
  const restless = defineController({
    name: "restless",
    for: "slinky.dev/v1.SimplePod",
    reconcile: () => ({ requeueAfterMs: 0 }),
  })
  const { steps } = await replayInto(restless, trace, { settleMs: 5 })
  const runs = steps.flatMap(({ entries }) => entries.filter(({ type }) => type === "reconcile"))
  expect(runs).toHaveLength(1006)
})
