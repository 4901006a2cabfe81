/**
 * A full disk of a recorder with limits, on a real file system: what no limit allows to remove stays, and the recorder waits for room; what a
 * limit allows is removed once it may be. Which limits need no help at all: device.test.ts.
 */
import { execFileSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { rmSync, statfsSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { describe, test } from "vitest"
import { RESERVE_BYTES, RESERVE_FILE } from "../../../src/archive/retention/disk-reserve.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { LoopDevice, noLoopDevice } from "../../harness/loop-device.ts"
import { patient } from "../../harness/patience.ts"
import { ledgerOf } from "../recorded/recorded-sandbox.ts"
import { type RecorderProcess, reel, Workplace, type Wrap } from "./recorder-command.ts"

const megabyte = 1024 * 1024
/** The one that fills the disk, and one that needs little. */
const [large, small] = ["v1.ConfigMap", "v1.ServiceAccount"] as const
const kinds = { [large]: "{}", [small]: "{}" }

/** 40 kB each on disk. `objects`: changes of so many; default: each is of another one. */
const putLarge = (sandbox: Sandbox, from: number, count: number, objects = Number.POSITIVE_INFINITY): void => {
  for (let number = from; number < from + count; number++)
    sandbox.put(large, {
      metadata: { namespace: "shop", name: `object-${number % objects}` },
      data: { text: randomBytes(30_000).toString("base64") },
    })
}

const putSmall = (sandbox: Sandbox, from: number, count: number): void => {
  for (let number = from; number < from + count; number++)
    sandbox.put(small, { metadata: { namespace: "shop", name: `robot-${number}` } })
}

/** Takes all of the device but so many bytes. Returns how the room is given back. */
const leave = (device: LoopDevice, bytes: number): (() => void) => {
  const ballast = join(device.path, "ballast")
  const { bavail, bsize } = statfsSync(device.path)
  writeFileSync(ballast, Buffer.alloc(bavail * bsize - bytes))
  return () => rmSync(ballast)
}

/** The bytes of the reserve in a data directory; `undefined`: there is none. */
const reserveIn = (dataDir: string): number | undefined =>
  statSync(join(dataDir, RESERVE_FILE), { throwIfNoEntry: false })?.size

const hasReserve = (recorder: RecorderProcess, dataDir: string): Promise<void> =>
  recorder.until(() => reserveIn(dataDir) === RESERVE_BYTES, "the reserve")

/**
 * Waits until readiness and metrics say that the disk is full. Room that is there without removing anything, such as free pages of the file, is used
 * before it stays so.
 */
const isDegraded = (recorder: RecorderProcess, dataDir: string): Promise<void> => {
  const trouble = `no space left for commit in ${dataDir}. Free some space or enlarge the volume.`
  let found: ReadonlyArray<unknown> = []
  return recorder.until(
    async () => {
      const { status, text } = await recorder.get("/readyz")
      const verbose = (await recorder.get("/readyz?verbose")).text
      found = [status, text, verbose, await recorder.metric("kubereel_store_failing")]
      return (
        status === 200 &&
        text === `degraded: the store cannot write: ${trouble}\n` &&
        verbose.endsWith(`\n[!]store cannot write: ${trouble}\nreadyz check passed, degraded\n`) &&
        found[3] === 1
      )
    },
    "degraded readiness",
    undefined,
    () => found.join("\n"),
  )
}

const versions = (changes: ReadonlyArray<{ readonly gvk: string; readonly resourceVersion: string }>, gvk: string) =>
  changes.filter((change) => change.gvk === gvk).map(({ resourceVersion }) => resourceVersion)

const verify = (dataDir: string): void => {
  execFileSync(process.execPath, [reel, "store", "verify", "--data-dir", dataDir])
}

/** The process and its threads believe that it is an hour earlier, until a file appears. */
const anHourEarlier = (place: Workplace, until: string): Wrap => {
  const program = place.write(
    "clock.mjs",
    `import { existsSync } from "node:fs"
     const now = Date.now
     Date.now = () => now() - (existsSync(${JSON.stringify(until)}) ? 0 : 3_600_000)`,
  )
  return (words) => ["env", `NODE_OPTIONS=--import=${pathToFileURL(program)}`, ...words]
}

const skipped = noLoopDevice()

describe
  .skipIf(skipped !== undefined)
  .concurrent(`a recorder with limits on a full disk${skipped === undefined ? "" : ` (${skipped})`}`, () => {
    test.for([
      ["a time that nothing exceeds", ["--retain-for", "10m"]],
      ["another kind's bytes", ["--retain-bytes", `${small}=1Mi`]],
    ] as const)(
      "of %s removes nothing and waits for room, which is visible; then every change is there",
      { timeout: patient(60_000) },
      async ([_, more], { expect }) => {
        await using place = new Workplace()
        using device = new LoopDevice(place.path("."), 24 * megabyte)
        await using sandbox = await Sandbox.start()
        const dataDir = join(device.path, "data")
        const recorder = place.record({ kinds, cluster: { server: sandbox.url }, dataDir, more })
        await recorder.ready()
        await hasReserve(recorder, dataDir)
        const giveBack = leave(device, 3 * megabyte)
        putLarge(sandbox, 0, 200)
        await recorder.says(/ERROR the recording cannot be written: no space left/)
        await isDegraded(recorder, dataDir)
        // The other kind is still received, although nothing of it can be written either.
        putSmall(sandbox, 0, 10)
        await recorder.until(
          async () => (await recorder.metric(`kubereel_kind_received_total{kind="${small}"}`)) === 10,
          "ten changes of the other kind",
        )
        expect(await recorder.kind(small)).toMatch(/ watching/)
        const part = await recorder.exported()
        expect(part.length).toBeLessThan(210)
        for (const gvk of [large, small]) {
          const recorded = versions(part, gvk)
          expect(recorded).toEqual(versions(ledgerOf(sandbox, gvk), gvk).slice(0, recorded.length))
        }
        expect(await recorder.metric("kubereel_store_removed_events_total")).toBe(0)
        giveBack()
        await recorder.until(async () => (await recorder.exported()).length === 210, "all changes")
        const all = await recorder.exported()
        for (const gvk of [large, small]) expect(versions(all, gvk)).toEqual(versions(ledgerOf(sandbox, gvk), gvk))
        expect(all.filter(({ action }) => action !== "applied")).toEqual([])
        await recorder.says(/INFO {2}the recording can be written again/)
        expect((await recorder.get("/readyz")).text).toBe("ok\n")
        expect(await recorder.metric("kubereel_store_failing")).toBe(0)
        await hasReserve(recorder, dataDir)
        expect(await recorder.stop()).toMatchObject({ code: 0 })
        verify(dataDir)
      },
    )

    test("of time alone waits, and removes what it may as soon as the time is up, without more room", {
      timeout: patient(60_000),
    }, async ({ expect }) => {
      await using place = new Workplace()
      using device = new LoopDevice(place.path("."), 24 * megabyte)
      await using sandbox = await Sandbox.start()
      const dataDir = join(device.path, "data")
      const isLater = place.path("an-hour-later")
      const recorder = place.record({
        ...{ cluster: { server: sandbox.url }, dataDir, more: ["--retain-for", "10m"] },
        options: { wrapped: anHourEarlier(place, isLater) },
      })
      await recorder.ready()
      await hasReserve(recorder, dataDir)
      putLarge(sandbox, 0, 600, 20)
      await recorder.says(/ERROR the recording cannot be written: no space left/)
      await isDegraded(recorder, dataDir)
      expect(await recorder.metric("kubereel_store_removed_events_total")).toBe(0)
      await hasReserve(recorder, dataDir)
      // What is left to record is more than the disk holds.
      writeFileSync(isLater, "")
      putLarge(sandbox, 600, 30, 20)
      await recorder.until(
        async () => (await recorder.metric("kubereel_store_events_total")) === 630,
        "630 recorded changes",
        30_000,
      )
      const ledger = versions(ledgerOf(sandbox, large), large)
      let recorded: ReadonlyArray<string> = []
      await recorder.until(async () => {
        // What an export reads may be removed if there was no room for its lease.
        recorded = versions(await recorder.exported().catch(() => []), large)
        return recorded.length > 0
      }, "an export")
      // Everything since the beginning is there; before it are the twenty states that objects had then.
      const changes = recorded.slice(20)
      expect(changes.length).toBeGreaterThanOrEqual(30)
      expect(changes).toEqual(ledger.slice(ledger.length - changes.length))
      expect(await recorder.metric("kubereel_store_removed_events_total")).toBeGreaterThan(0)
      expect((await recorder.get("/readyz")).text).toBe("ok\n")
      expect(await recorder.metric("kubereel_store_failing")).toBe(0)
      await hasReserve(recorder, dataDir)
      expect(await recorder.stop()).toMatchObject({ code: 0 })
      verify(dataDir)
    })
  })

describe.concurrent("a recorder without limits", () => {
  /** Retention has had its first turn, in which it makes the reserve if there is to be one. */
  const hasLooked = (recorder: RecorderProcess): Promise<void> =>
    recorder.until(
      async () => ((await recorder.metric("kubereel_store_longest_retention_seconds")) ?? 0) > 0,
      "the first turn of retention",
    )

  test("makes no reserve, and gives up that of a recorder with limits", { timeout: patient(30_000) }, async ({
    expect,
  }) => {
    await using place = new Workplace()
    await using sandbox = await Sandbox.start()
    const [cluster, dataDir] = [{ server: sandbox.url }, place.path("data")]
    const first = place.record({ cluster })
    await first.ready()
    await hasLooked(first)
    expect(reserveIn(dataDir)).toBeUndefined()
    expect(await first.stop()).toMatchObject({ code: 0 })
    expect(reserveIn(dataDir)).toBeUndefined()
    const limited = place.record({ cluster, more: ["--retain-for", "10m"] })
    await limited.ready()
    await hasReserve(limited, dataDir)
    expect(await limited.stop()).toMatchObject({ code: 0 })
    expect(reserveIn(dataDir)).toBe(RESERVE_BYTES)
    const last = place.record({ cluster })
    await last.ready()
    await last.until(() => reserveIn(dataDir) === undefined, "the end of the reserve")
    expect(await last.stop()).toMatchObject({ code: 0 })
  })
})
