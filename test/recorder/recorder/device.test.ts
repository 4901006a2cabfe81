/** The same faults as in failing-disk.test.ts on a real file system: full without a journal, frozen, read-only. */
import { execFileSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { rmSync, statfsSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, test } from "vitest"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { LoopDevice, noLoopDevice } from "../../harness/loop-device.ts"
import { patient } from "../../harness/patience.ts"
import { ledgerOf } from "../recorded/recorded-sandbox.ts"
import { reel, Workplace } from "./recorder-command.ts"

/** 40 kB each on disk. `objects`: changes of so many; default: each is of another one. */
const put = (sandbox: Sandbox, from: number, count: number, objects = Number.POSITIVE_INFINITY): void => {
  for (let number = from; number < from + count; number++)
    sandbox.put("v1.ConfigMap", {
      metadata: { namespace: "shop", name: `object-${number % objects}` },
      data: { text: randomBytes(30_000).toString("base64") },
    })
}

const skipped = noLoopDevice()

describe.skipIf(skipped !== undefined)(`a recorder on a device${skipped === undefined ? "" : ` (${skipped})`}`, () => {
  test("without a journal that is full continues with a sound recording when there is room", {
    timeout: patient(60_000),
  }, async ({ expect }) => {
    await using place = new Workplace()
    using device = new LoopDevice(place.path("."), 24 * 1024 * 1024, ["-O", "^has_journal"])
    await using sandbox = await Sandbox.start()
    const cluster = { server: sandbox.url }
    const { bavail, bsize } = statfsSync(device.path)
    writeFileSync(join(device.path, "ballast"), Buffer.alloc(bavail * bsize - 3_000_000))
    const recorder = place.record({ cluster, dataDir: join(device.path, "data") })
    await recorder.ready()
    put(sandbox, 0, 200)
    await recorder.says(/ERROR the recording cannot be written/)
    const before = (await recorder.exported()).length
    expect(before).toBeLessThan(200)
    rmSync(join(device.path, "ballast"))
    await recorder.says(/INFO {2}the recording can be written again/)
    await recorder.until(async () => (await recorder.exported()).length === 200, "all events")
    expect(await recorder.stop()).toMatchObject({ code: 0 })
    execFileSync(process.execPath, [reel, "store", "verify", "--data-dir", join(device.path, "data")])
  })

  test.for([
    ["", []],
    [", and has no journal,", ["-O", "^has_journal"]],
  ] as const)(
    "that is too small for its limit%s removes the oldest and goes on, also after it was killed",
    { timeout: patient(90_000) },
    async ([_, format], { expect }) => {
      await using place = new Workplace()
      using device = new LoopDevice(place.path("."), 40 * 1024 * 1024, [...format])
      await using sandbox = await Sandbox.start()
      const dataDir = join(device.path, "data")
      const start = () => place.record({ cluster: { server: sandbox.url }, dataDir, more: ["--retain-bytes", "1Gi"] })
      const first = start()
      await first.ready()
      put(sandbox, 0, 1300, 50)
      await first.says(/ERROR the recording cannot be written/)
      await first.kill()
      const recorder = start()
      await recorder.ready()
      put(sandbox, 1300, 300, 50)
      const ledger = ledgerOf(sandbox, "v1.ConfigMap").map(({ resourceVersion }) => resourceVersion)
      const recorded = async () => (await recorder.exported()).map(({ resourceVersion }) => resourceVersion)
      // An export keeps what it reads: one after the other, while there is no room, they would keep what is to make room.
      const isWritten = async () => (await recorder.metric("kubereel_store_failing")) === 0
      const isDone = async () => (await isWritten()) && (await recorded()).at(-1) === ledger.at(-1)
      await recorder.until(isDone, "the last change", 20_000)
      // Everything since the beginning is there; before it stand the 50 states that objects had then.
      const changes = (await recorded()).slice(50)
      expect(changes).toEqual(ledger.slice(ledger.length - changes.length))
      expect(statSync(join(dataDir, "reserve")).size).toBeGreaterThan(0)
      expect(await recorder.stop()).toMatchObject({ code: 0 })
      execFileSync(process.execPath, [reel, "store", "verify", "--data-dir", dataDir])
    },
  )

  test("that is frozen is noticed from outside, and nothing is missing afterwards", {
    timeout: patient(60_000),
  }, async ({ expect }) => {
    await using place = new Workplace()
    using device = new LoopDevice(place.path("."), 64 * 1024 * 1024)
    await using sandbox = await Sandbox.start()
    const recorder = place.record({ cluster: { server: sandbox.url }, dataDir: join(device.path, "data") })
    await recorder.ready()
    put(sandbox, 0, 1)
    await recorder.until(async () => (await recorder.exported()).length === 1, "an event")
    device.freeze(true)
    try {
      put(sandbox, 1, 5)
      await recorder.says(/WARN {2}the recording cannot be written: the (store does not respond|disk does not finish)/)
      expect((await recorder.get("/readyz")).text).toMatch(/^degraded: /)
      expect(await recorder.metric("kubereel_store_failing")).toBe(1)
      expect(await recorder.metric("kubereel_store_lag_seconds")).toBeGreaterThan(0)
    } finally {
      device.freeze(false)
    }
    await recorder.says(/INFO {2}the recording can be written again/)
    await recorder.until(async () => (await recorder.exported()).length === 6, "six events")
    expect(await recorder.stop()).toMatchObject({ code: 0 })
  })

  test("that is read-only serves what is recorded, with and without a recorder, and records when it is writable", {
    timeout: patient(60_000),
  }, async ({ expect }) => {
    await using place = new Workplace()
    using device = new LoopDevice(place.path("."), 64 * 1024 * 1024)
    await using sandbox = await Sandbox.start()
    const cluster = { server: sandbox.url }
    const dataDir = join(device.path, "data")
    const first = place.record({ cluster, dataDir })
    await first.ready()
    put(sandbox, 0, 3)
    await first.until(async () => (await first.exported()).length === 3, "three events")
    await first.kill()
    device.setReadOnly(true)
    const recorder = place.record({ cluster, dataDir })
    await recorder.says(/ERROR the recording cannot be written: data directory .* is not writable \(EROFS/)
    expect(await recorder.exported()).toHaveLength(3)
    expect((await recorder.get("/readyz")).status).toBe(503)
    const trace = place.path("trace.ndjson")
    execFileSync(process.execPath, [
      reel,
      "export",
      "--data-dir",
      dataDir,
      "--start",
      "0",
      "--format",
      "ndjson",
      "-o",
      trace,
    ])
    device.setReadOnly(false)
    // An export that began before breaks off: what it reads is being written.
    await recorder.says(/INFO {2}the recording can be written again/)
    put(sandbox, 3, 1)
    await recorder.until(async () => (await recorder.exported()).length === 4, "four events")
    expect(await recorder.stop()).toMatchObject({ code: 0 })
  })
})
