/**
 * A disk that is full while actors start again: they wait for room too. The limit is on this test's own process, because one actor of a
 * recorder can be killed only from inside.
 */
import { execFileSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { statSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { afterEach, describe, expect, test } from "vitest"
import { formatMetrics } from "../../../src/recorder/metrics/metrics-text.ts"
import { gatherMetrics } from "../../../src/recorder/metrics/recorder-metrics.ts"
import { patient } from "../../harness/patience.ts"
import { differences, ledgerOf, RecordedSandbox, tracked, untiring } from "../recorded/recorded-sandbox.ts"
import { limitFiles, unlimited } from "./file-limit.ts"
import { until } from "./recorder-command.ts"

const gvk = "v1.ConfigMap"

afterEach(() => limitFiles("unlimited"))

/** Objects that do not compress: 20 kB each on disk. */
const fill = ({ sandbox }: RecordedSandbox, from: number, count: number): void => {
  for (let number = from; number < from + count; number++) {
    sandbox.put(gvk, {
      metadata: { namespace: "shop", name: `object-${number}` },
      data: { text: randomBytes(15_000).toString("base64") },
    })
  }
}

/** A recording whose disk is full, with events that wait for room. Actors may crash as often as in a real one. */
const onFullDisk = async (): Promise<RecordedSandbox> => {
  const recorded = await RecordedSandbox.start({ kinds: [tracked(gvk)], restart: { ...untiring, maximumCrashes: 5 } })
  await recorded.inState(gvk, "watching")
  fill(recorded, 0, 20)
  await recorded.caughtUp()
  limitFiles(1_000_000)
  fill(recorded, 20, 80)
  await hasTrouble(recorded, true)
  return recorded
}

const hasTrouble = ({ actors }: RecordedSandbox, wanted: boolean): Promise<void> =>
  until(
    async () => (actors.statuses.storeTrouble !== undefined) === wanted,
    () => `the store ${wanted ? "to refuse" : "to go on"}: ${actors.statuses.verboseReadiness()}`,
  )

const failingOf = async ({ actors }: RecordedSandbox): Promise<string | undefined> =>
  formatMetrics(await Effect.runPromise(gatherMetrics(actors, 0))).match(/^kubereel_store_failing (\d)$/m)?.[1]

const logSize = ({ directory }: RecordedSandbox): number => statSync(join(directory, "recording.db-wal")).size

/** Ends a watcher's life and waits until it runs again, or waits for permission to. */
const killWatcher = async ({ actors }: RecordedSandbox, state: "running" | "starting"): Promise<void> => {
  const watcher = actors.watchers[0]?.watcher
  const restarts = watcher?.restarts ?? 0
  await watcher?.kill()
  await until(
    async () => watcher !== undefined && watcher.restarts > restarts && watcher.state === state,
    () => `the watcher, ${watcher?.state}, to be ${state}`,
  )
}

/** The number of crashes that stop a kind. */
const giveUp = async (recorded: RecordedSandbox): Promise<void> => {
  const watcher = recorded.actors.watchers[0]?.watcher
  for (let crash = 1; crash < 5; crash++) await killWatcher(recorded, "running")
  await watcher?.kill()
  await recorded.inState(gvk, "stopped")
}

const expectAllOnce = async (recorded: RecordedSandbox): Promise<void> => {
  await hasTrouble(recorded, false)
  await recorded.caughtUp()
  await recorded.inState(gvk, "watching")
  const { changes, gaps } = await recorded.export()
  expect(gaps).toEqual([])
  expect(differences(changes, ledgerOf(recorded.sandbox, gvk), gvk)).toEqual({})
}

describe("while the disk is full", { timeout: patient(40_000) }, () => {
  test("a watcher that is linked again waits for room, and the store does not crash", async () => {
    await using recorded = await onFullDisk()
    using _ = unlimited
    const { actors } = recorded
    // More often than the store may crash. Each is a row for which there is still room: a frame is not.
    for (let kill = 0; kill < 4; kill++) await killWatcher(recorded, "running")
    expect([actors.store.state, actors.store.restarts]).toEqual(["running", 0])
    expect(actors.statuses.verboseReadiness()).toMatch(/^\[!\]store cannot write: /m)
    expect(await failingOf(recorded)).toBe("1")
    fill(recorded, 100, 5)
    limitFiles("unlimited")
    await expectAllOnce(recorded)
    expect(actors.store.restarts).toBe(0)
    expect(await failingOf(recorded)).toBe("0")
  })

  test("a watcher whose start cannot be written waits for room, and that is visible", async () => {
    await using recorded = await RecordedSandbox.start({
      kinds: [tracked(gvk)],
      restart: { ...untiring, maximumCrashes: 5 },
    })
    using _ = unlimited
    const { actors } = recorded
    await recorded.inState(gvk, "watching")
    fill(recorded, 0, 5)
    await recorded.caughtUp()
    limitFiles(logSize(recorded))
    await killWatcher(recorded, "starting")
    // Nothing waits for a commit: only the start reveals it.
    await hasTrouble(recorded, true)
    fill(recorded, 5, 5)
    limitFiles("unlimited")
    await expectAllOnce(recorded)
    const troubles = recorded.notices.filter((notice) => notice.type === "store")
    expect(new Set(troubles.map(({ trouble }) => trouble === undefined))).toEqual(new Set([true, false]))
    expect(actors.store.restarts).toBe(0)
  })

  test("a kind that is stopped gets its gap as soon as there is room, once", async () => {
    await using recorded = await onFullDisk()
    using _ = unlimited
    await giveUp(recorded)
    await until(
      async () => recorded.actors.store.state === "running" && (await failingOf(recorded)) === "1",
      "the store to refuse",
    )
    limitFiles("unlimited")
    await hasTrouble(recorded, false)
    await until(async () => (await recorded.export()).gaps.length > 0, "the gap")
    // A failed attempt may have left it to be committed later.
    await recorded.actors.store.kill()
    await until(async () => recorded.actors.store.state === "running", "the store's next life")
    expect((await recorded.export()).gaps).toMatchObject([{ gvk, reason: "stopped", toVersion: "" }])
    await recorded.stopRecording()
    expect(recorded.notices.filter(({ type }) => type === "unwritten")).toEqual([])
  })

  test("a recording that ends before the gap of a stopped kind could be written reports that", async () => {
    await using recorded = await onFullDisk()
    using _ = unlimited
    await giveUp(recorded)
    await recorded.stopRecording()
    const unwritten = recorded.notices.filter((notice) => notice.type === "unwritten")
    expect(unwritten).toContainEqual({
      type: "unwritten",
      what: `the gap from the point at which recording ${gvk} stopped`,
    })
    // That the kind stopped is also part of what is being recorded, for which there may be no room either.
    const others = unwritten.filter(({ what }) => !what.startsWith("the gap"))
    expect(others.map(({ what }) => what)).toEqual(others.length === 0 ? [] : ["what is being recorded"])
  })

  test("a store that waits for room to restart can be stopped", async () => {
    await using recorded = await RecordedSandbox.start({ kinds: [tracked(gvk)] })
    using _ = unlimited
    await recorded.inState(gvk, "watching")
    limitFiles(0)
    await recorded.actors.store.kill()
    await hasTrouble(recorded, true)
    const startedMs = performance.now()
    await recorded.stopRecording()
    // Neither the time to drain nor the time until a thread is killed.
    expect(performance.now() - startedMs).toBeLessThan(patient(2000))
    expect(recorded.actors.store.state).toBe("stopped")
  })

  test("a restarting store waits for room, and reports when there is some", async () => {
    await using recorded = await onFullDisk()
    using _ = unlimited
    const { actors } = recorded
    limitFiles(0)
    await actors.store.kill()
    // It tries once a second, and five crashes would have ended the recording.
    await until(
      async () =>
        recorded.notices.filter((notice) => notice.type === "store" && notice.trouble?.includes("open")).length > 2,
      () => `some tries to open the recording; it is ${actors.store.state}`,
    )
    expect([actors.store.state, actors.store.restarts]).toEqual(["starting", 1])
    limitFiles("unlimited")
    await expectAllOnce(recorded)
    expect(actors.store.restarts).toBe(1)
  })
})

/** In a process of its own: closing the file in this one would free the store's locks on it. */
const damageNames = ({ directory }: RecordedSandbox): void => {
  const script = `
    const database = new (require("node:sqlite").DatabaseSync)(process.argv[1], { timeout: 5000 })
    database.function("row_checksum", { deterministic: true, varargs: true }, () => 1)
    database.exec("UPDATE object SET name = 'another'")
    database.close()`
  execFileSync(process.execPath, ["--no-warnings", "-e", script, join(directory, "recording.db")])
}

test("damage that only a restarted store finds: the recording is set aside, and watchers start again for the new one", {
  timeout: patient(40_000),
}, async () => {
  await using recorded = await RecordedSandbox.start({ kinds: [tracked(gvk)] })
  const { actors } = recorded
  await recorded.inState(gvk, "watching")
  fill(recorded, 0, 3)
  await recorded.caughtUp()
  damageNames(recorded)
  await actors.store.kill()
  await until(
    async () => actors.statuses.setAside.length === 1,
    () => `the recording to be set aside; the store is ${actors.store.state}`,
  )
  fill(recorded, 3, 3)
  await recorded.caughtUp()
  const { changes, gaps } = await recorded.export()
  expect(gaps[0]).toMatchObject({ reason: "damaged" })
  expect([...new Set(changes.map(({ name }) => name))].sort()).toEqual(
    Array.from({ length: 6 }, (_, number) => `object-${number}`),
  )
})
