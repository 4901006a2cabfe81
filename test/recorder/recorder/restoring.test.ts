/** A recorder that restores its stream says so for as long as it takes: it lives, is not ready, and records nothing. */
import { once } from "node:events"
import { mkdirSync, renameSync, rmSync } from "node:fs"
import { createServer, type Server } from "node:net"
import { basename, dirname } from "node:path"
import { expect, test } from "vitest"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { patient } from "../../harness/patience.ts"
import { Workplace } from "./recorder-command.ts"

/** What is there is a file that cannot be opened, as on a mount that fails. Paths of sockets are short. */
const socketAt = async (path: string): Promise<Server> => {
  const before = process.cwd()
  process.chdir(dirname(path))
  try {
    const socket = createServer().listen(basename(path))
    await once(socket, "listening")
    return socket
  } finally {
    process.chdir(before)
  }
}

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

    const segment = workplace.path("store/segments/000000000001.segment")
    renameSync(segment, workplace.path("aside"))
    const socket = await socketAt(segment)
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

    socket.close()
    rmSync(segment, { force: true })
    renameSync(workplace.path("aside"), segment)
    await second.ready(patient(30_000))
    expect(second.log).toMatch(/continuing the stream after segment \d+, in epoch 2/)
    expect((await second.stop()).code).toBe(0)
  } finally {
    await sandbox.close()
  }
})
