/** A disk that becomes full, or is removed, while the recorder records. */
import { execFileSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { renameSync, rmSync } from "node:fs"
import { describe, test } from "vitest"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { patient } from "../../harness/patience.ts"
import { Workplace } from "./recorder-command.ts"

/** An object that does not compress, of so many bytes on disk and a third more in the cluster. */
const put = (sandbox: Sandbox, number: number, bytes: number): void => {
  const data = { text: randomBytes(bytes).toString("base64") }
  sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name: `object-${number}` }, data })
}

/** No file may grow beyond 1 MB, until prlimit(1) of util-linux allows it again. */
const smallDisk = (words: ReadonlyArray<string>) => ["prlimit", "--fsize=1000000:unlimited", ...words]

/**
 * A hundred objects, the first of which no file of that disk can hold: so each attempt fails, and in the same way. After small ones alone the log could be
 * so full that the next attempt already fails as it opens the database again, which is reported too.
 */
const fill = (sandbox: Sandbox): void => {
  put(sandbox, 0, 1_200_000)
  for (let number = 1; number < 100; number++) put(sandbox, number, 15_000)
}

describe.concurrent("a recorder", { timeout: patient(30_000) }, () => {
  test("whose disk is full reports it, drops nothing, and continues when there is room", async ({ expect }) => {
    await using place = new Workplace()
    await using sandbox = await Sandbox.start()
    const recorder = place.record({ cluster: { server: sandbox.url }, options: { wrapped: smallDisk } })
    await recorder.ready()
    fill(sandbox)
    await recorder.says(/ERROR the recording cannot be written: .*keeps retrying/)
    expect((await recorder.get("/readyz?verbose")).text).toMatch(/^\[!\]store cannot write: commit failed/m)
    expect(await recorder.metric("kubereel_store_failing")).toBe(1)
    // What is recorded can be exported, and the trace says how far it reaches.
    const part = await recorder.post({ start_ts: 0, end_ts: 4e9, export_path: "x", filters: noFilters })
    expect(part.status).toBe(200)
    expect(part.headers.get("kubereel-incomplete")).toMatch(/v1\.ConfigMap=recorded-/)
    await part.arrayBuffer()
    expect((await recorder.get("/readyz")).text).toMatch(/^degraded: the store cannot write: commit failed/)
    await recorder.until(async () => ((await recorder.metric("kubereel_store_lag_seconds")) ?? 0) > 1.5, "some retries")
    execFileSync("prlimit", ["--pid", String(recorder.child.pid), "--fsize=unlimited:unlimited"])
    // Without help: a rejected export once removed the retry's timer, and with the window full nothing set another.
    await recorder.says(/INFO {2}the recording can be written again/)
    expect(await recorder.metric("kubereel_store_failing")).toBe(0)
    await recorder.until(async () => (await recorder.exported()).length === 100, "a hundred events")
    // Once, not once a second.
    expect(recorder.log.match(/ERROR the recording cannot be written/g), recorder.log).toHaveLength(1)
    expect(await recorder.stop()).toMatchObject({ code: 0 })
  })

  test("stopped while its disk is full reports what is missing, and a later one fetches it", async ({ expect }) => {
    await using place = new Workplace()
    await using sandbox = await Sandbox.start()
    const cluster = { server: sandbox.url }
    const recorder = place.record({ cluster, options: { wrapped: smallDisk } })
    await recorder.ready()
    fill(sandbox)
    await recorder.says(/ERROR the recording cannot be written/)
    const { code, tookMs } = await recorder.stop()
    expect(code).toBe(3)
    expect(tookMs).toBeLessThan(patient(6000))
    expect(recorder.log).toMatch(
      /ERROR v1\.ConfigMap: the last events received could not be written\. To record them, restart/,
    )
    const later = place.record({ cluster })
    await later.until(async () => (await later.exported()).length === 100, "a hundred events")
    expect((await later.exported()).filter(({ action }) => action !== "applied")).toEqual([])
  })

  test("whose data directory is removed ends, and does not continue recording into nothing", async ({ expect }) => {
    await using place = new Workplace()
    await using sandbox = await Sandbox.start()
    const recorder = place.record({ cluster: { server: sandbox.url } })
    await recorder.ready()
    rmSync(place.path("data"), { recursive: true })
    expect(await recorder.ended).toMatchObject({ code: 1 })
    expect(recorder.log).toMatch(/ERROR .*recording\.db was removed or moved while recording, .*restart the recorder/)
  })

  test("whose data directory is moved saves everything there before it ends", async ({ expect }) => {
    await using place = new Workplace()
    await using sandbox = await Sandbox.start()
    const cluster = { server: sandbox.url }
    const recorder = place.record({ cluster })
    await recorder.ready()
    put(sandbox, 0, 100)
    await recorder.until(async () => (await recorder.exported()).length === 1, "an event")
    renameSync(place.path("data"), place.path("moved"))
    expect(await recorder.ended).toMatchObject({ code: 1 })
    put(sandbox, 1, 100)
    const later = place.record({ cluster, dataDir: place.path("moved") })
    await later.until(async () => (await later.exported()).length === 2, "both events")
    expect((await later.exported()).map(({ action }) => action)).toEqual(["applied", "applied"])
  })
})

const noFilters = { excluded_namespaces: [], excluded_labels: [] }
