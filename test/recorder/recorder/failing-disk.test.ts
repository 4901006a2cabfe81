/** A disk that loses what was written to it, or is full when the recorder starts: what is on it is served, and nothing is trusted blindly. */
import { execFileSync } from "node:child_process"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { describe, test } from "vitest"
import type { Coverage } from "../../../src/recorder/export/coverage.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { FaultyDisk, noFaultyDisk } from "../../harness/faulty-disk/faulty-disk.ts"
import { patient } from "../../harness/patience.ts"
import { reel, Workplace } from "./recorder-command.ts"

const put = (sandbox: Sandbox, from: number, count: number): void => {
  for (let number = from; number < from + count; number++)
    sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name: `object-${number}` } })
}

const skipped = noFaultyDisk()

describe.skipIf(skipped !== undefined)(
  `a recorder on a disk that fails${skipped === undefined ? "" : ` (${skipped})`}`,
  () => {
    const place = () => {
      const workplace = new Workplace()
      return { workplace, disk: new FaultyDisk(workplace.path("."), "recording.db") }
    }
    /** A recorder on the disk that has recorded five events. */
    const recordedFive = async (workplace: Workplace, disk: FaultyDisk, sandbox: Sandbox) => {
      const recorder = workplace.record({ cluster: { server: sandbox.url }, options: { wrapped: disk.wrap } })
      await recorder.ready()
      put(sandbox, 0, 5)
      await recorder.until(async () => (await recorder.exported()).length === 5, "five events")
      return recorder
    }

    test("and loses what was written continues from what is left, and nothing is missing or twice in the end", {
      timeout: patient(60_000),
    }, async ({ expect }) => {
      const { workplace, disk } = place()
      await using _ = workplace
      await using sandbox = await Sandbox.start()
      const recorder = await recordedFive(workplace, disk, sandbox)
      disk.now("sync-loses")
      put(sandbox, 5, 5)
      await recorder.says(/ERROR the recording cannot be written: sync failed/)
      disk.now("ok")
      put(sandbox, 10, 5)
      await recorder.says(/ERROR the disk has lost what was written to it/)
      await recorder.says(/INFO {2}the recording can be written again/)
      // If not even the beginning of the database was on the disk, a new recording begins with a gap.
      const events = async () => (await recorder.exported()).filter(({ action }) => action !== "gap")
      await recorder.until(async () => (await events()).length === 15, "fifteen events")
      const names = (await events()).map(({ name }) => name)
      expect(new Set(names).size).toBe(15)
      expect(await recorder.stop()).toMatchObject({ code: 0 })
      execFileSync(process.execPath, [reel, "store", "verify", "--data-dir", workplace.path("data")])
    })

    test("and is full when it starts serves what is recorded, and records again when there is room", {
      timeout: patient(60_000),
    }, async ({ expect }) => {
      const { workplace, disk } = place()
      await using _ = workplace
      await using sandbox = await Sandbox.start()
      const cluster = { server: sandbox.url }
      put(sandbox, 0, 5)
      const first = workplace.record({ cluster })
      await first.ready()
      await first.until(async () => (await first.exported()).length === 5, "five events")
      await first.stop()
      disk.now("full")
      const recorder = workplace.record({ cluster, options: { wrapped: disk.wrap } })
      await recorder.says(/ERROR the recording cannot be written: no space left/)
      await recorder.says(/listening on/)
      expect((await recorder.get("/readyz")).status).toBe(503)
      expect((await recorder.get("/readyz")).text).toMatch(
        /nothing is being recorded: the store cannot write: no space left/,
      )
      expect(await recorder.metric("kubereel_store_failing")).toBe(1)
      expect(await recorder.exported()).toHaveLength(5)
      expect((await recorder.get("/v1/coverage")).status).toBe(200)
      disk.now("ok")
      await recorder.says(/INFO {2}the recording can be written again/)
      put(sandbox, 5, 1)
      await recorder.until(async () => (await recorder.exported()).length === 6, "six events")
      expect((await recorder.get("/readyz")).text).toBe("ok\n")
      expect(await recorder.stop()).toMatchObject({ code: 0 })
    })

    test("and hangs is seen from outside within seconds: readiness, metrics, log; exports end where it began", {
      timeout: patient(60_000),
    }, async ({ expect }) => {
      const { workplace, disk } = place()
      await using _ = workplace
      await using sandbox = await Sandbox.start()
      const recorder = await recordedFive(workplace, disk, sandbox)
      const hangs = Date.now() * 1000
      disk.now("hangs")
      put(sandbox, 5, 5)
      await recorder.says(/WARN {2}the recording cannot be written: the store does not respond, as when its disk hangs/)
      expect((await recorder.get("/readyz")).text).toMatch(
        /^degraded: the store cannot write: the store does not respond/,
      )
      expect(await recorder.metric("kubereel_store_failing")).toBe(1)
      expect(await recorder.metric("kubereel_store_answer_age_seconds")).toBeGreaterThan(3)
      expect(await recorder.metric("kubereel_store_lag_seconds")).toBeGreaterThan(3)
      expect(await recorder.metric("kubereel_store_pending_bytes")).toBeGreaterThan(0)
      const { kinds } = JSON.parse((await recorder.get("/v1/coverage")).text) as Coverage
      for (const { ranges, isComplete } of kinds) {
        expect(isComplete).toBe(false)
        for (const { end } of ranges) expect(end).toBeLessThan(hangs + 1_000_000)
      }
      expect(await recorder.exported()).toHaveLength(5)
      disk.now("ok")
      await recorder.says(/INFO {2}the recording can be written again/)
      await recorder.until(async () => (await recorder.exported()).length === 10, "ten events")
      expect((await recorder.get("/readyz")).text).toBe("ok\n")
      expect(await recorder.metric("kubereel_store_answer_age_seconds")).toBeLessThan(3)
      expect(await recorder.stop()).toMatchObject({ code: 0 })
    })

    test("a damaged recording is set aside in so many words, and its successor begins with a gap", {
      timeout: patient(60_000),
    }, async ({ expect }) => {
      const { workplace } = place()
      await using _ = workplace
      await using sandbox = await Sandbox.start()
      const cluster = { server: sandbox.url }
      put(sandbox, 0, 5)
      const first = workplace.record({ cluster })
      await first.ready()
      await first.until(async () => (await first.exported()).length === 5, "five events")
      await first.stop()
      const database = new DatabaseSync(join(workplace.path("data"), "recording.db"))
      database.function("row_checksum", { deterministic: true, varargs: true }, () => 1)
      database.exec("UPDATE sender SET frame = 7")
      database.close()
      const recorder = workplace.record({ cluster })
      const [, path = ""] = await recorder.says(
        /ERROR the recording is damaged and was set aside in (\S+); a new one begins with a gap/,
      )
      await recorder.ready()
      expect(readdirSync(path)).toEqual(["recording.db"])
      expect((await recorder.get("/readyz?verbose")).text).toContain(
        `[!]store set a damaged recording aside in ${path}`,
      )
      expect(await recorder.metric("kubereel_store_set_asides_total")).toBe(1)
      const { kinds } = JSON.parse((await recorder.get("/v1/coverage")).text)
      expect(kinds[0].gaps).toMatchObject([{ reason: "damaged" }])
      await recorder.until(
        async () => (await recorder.exported()).filter(({ action }) => action === "applied").length === 5,
        "five",
      )
      expect(await recorder.stop()).toMatchObject({ code: 0 })
      const copy = workplace.path("salvaged")
      try {
        execFileSync(process.execPath, [reel, "store", "salvage", "--data-dir", path, "--to", copy])
      } catch (error) {
        expect(error).toMatchObject({ status: 3 })
      }
      execFileSync(process.execPath, [reel, "store", "verify", "--data-dir", copy])
    })
  },
)
