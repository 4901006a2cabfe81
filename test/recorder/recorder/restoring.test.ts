/** A recorder that restores its stream says so for as long as it takes: it lives, is not ready, and records nothing. */
import { mkdirSync, symlinkSync, unlinkSync } from "node:fs"
import { expect, test } from "vitest"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { patient } from "../../harness/patience.ts"
import { Workplace } from "./recorder-command.ts"

test("while the store is away in the middle of a restore, the recorder lives, says that nothing is recorded, and goes on when it is back", {
  timeout: patient(90_000),
}, async () => {
  await using workplace = new Workplace()
  const sandbox = await Sandbox.start()
  try {
    const address = workplace.path("store")
    mkdirSync(address)
    const more = ["--archive-to", address, "--archive-every", "1s"]
    const cluster = { server: sandbox.url }
    const first = workplace.record({ cluster, dataDir: workplace.path("one"), more })
    await first.ready()
    const archived = (segments: number): Promise<void> =>
      first.until(
        async () => ((await first.metric("kubereel_archive_segment")) ?? 0) >= segments,
        `${segments} segments`,
      )
    await archived(1)
    sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name: "web" } })
    await archived(2)
    await first.stop()

    // A folder that cannot be read, and that nothing but restoring reads, as on a mount that fails.
    symlinkSync("manifest", workplace.path("store/manifest"))
    const second = workplace.record({ cluster, dataDir: workplace.path("two"), more })
    await second.until(
      async () => (await second.get("/readyz")).text.includes("It cannot go on now"),
      "the reason",
      patient(30_000),
    )
    const readiness = await second.get("/readyz")
    expect(readiness.status).toBe(503)
    expect(readiness.text).toMatch(
      /^restoring the stream at .*\/store; nothing is recorded yet\. It cannot go on now: /,
    )
    expect((await second.get("/healthz")).status).toBe(200)
    expect((await second.get("/v1/coverage")).status).toBe(503)
    await second.says(/the stream cannot be restored: .* Nothing is recorded until it is; the recorder keeps retrying/)
    expect(second.log).not.toContain("Recording continues")

    unlinkSync(workplace.path("store/manifest"))
    await second.ready(patient(30_000))
    expect(second.log).toMatch(/continuing the stream after segment \d+, in epoch 2/)
    expect((await second.stop()).code).toBe(0)
  } finally {
    await sandbox.close()
  }
})
