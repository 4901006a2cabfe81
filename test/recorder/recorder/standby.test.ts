/**
 * Two recorders as processes with one Lease and one data directory: whatever happens to the one that records, the other takes over, no two
 * write, and what is recorded is what happened.
 */
import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { describe, test } from "vitest"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { patient } from "../../harness/patience.ts"
import { differences, ledgerOf } from "../recorded/recorded-sandbox.ts"
import { Workload } from "../recorded/workload.ts"
import { type RecorderProcess, until, Workplace } from "./recorder-command.ts"

const kinds = { "apps/v1.Deployment": "{detect: all}", "v1.ConfigMap": "{detect: all}" }
const leaseMs = 3000
const election = ["--lease", "default/recorder"]
const lease = [...election, "--lease-duration", `${leaseMs / 1000}s`]

/** Waits for a line in the log of a recorder that has ended: its last output may arrive after that. */
const logged = (recorder: RecorderProcess, pattern: RegExp): Promise<void> =>
  until(
    () => pattern.test(recorder.log),
    () => `${pattern} in the log:\n${recorder.log}`,
    2000,
  )

/** A way to the cluster that can be cut. */
const openWay = async (url: string) => {
  const sockets = new Set<Socket>()
  const keep = (socket: Socket): Socket => {
    sockets.add(socket)
    return socket.on("error", () => socket.destroy()).on("close", () => sockets.delete(socket))
  }
  const server = createServer((near) => {
    const far = keep(connect(Number(new URL(url).port), "127.0.0.1"))
    keep(near).pipe(far).pipe(near)
    near.on("close", () => far.destroy())
    far.on("close", () => near.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut: (): void => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Two recorders under load, of which the first leads. */
const openPair = async (more: ReadonlyArray<string> = lease) => {
  const place = new Workplace()
  const sandbox = await Sandbox.start()
  const workload = new Workload(sandbox, Object.keys(kinds), Number(process.env.KUBEREEL_TEST_SEED ?? 47))
  const way = await openWay(sandbox.url)
  const record = (name: string, server: string): RecorderProcess =>
    place.record({ cluster: { server }, kinds, name, more })
  const leader = record("leader", way.url)
  await leader.ready()
  const standby = record("standby", sandbox.url)
  await standby.says(/standby; \S+ holds the Lease default\/recorder since /)
  workload.start(500)
  return {
    ...{ leader, standby, cut: way.cut },
    /** ms until the standby records, from now. */
    takeover: async (): Promise<number> => {
      const startedMs = performance.now()
      await standby.says(/this recorder holds the Lease default\/recorder/, 20_000)
      const tookMs = performance.now() - startedMs
      await standby.ready()
      return tookMs
    },
    /** What the recording of the standby has more or less than the ledger; waits until it has as much. */
    difference: async () => {
      workload.stop()
      const wanted = Object.keys(kinds).flatMap((gvk) => ledgerOf(sandbox, gvk))
      await standby.until(async () => (await standby.exported()).length >= wanted.length, "all events", 20_000)
      const exported = await standby.exported()
      const changes = exported as unknown as Parameters<typeof differences>[0]
      return {
        gaps: exported.filter(({ action }) => action === "gap"),
        ...Object.assign({}, ...Object.keys(kinds).map((gvk) => differences(changes, ledgerOf(sandbox, gvk), gvk))),
      }
    },
    [Symbol.asyncDispose]: async () => {
      workload.stop()
      await place.close()
      way.cut()
      await sandbox.close()
    },
  }
}

const nothing = { gaps: [] }

describe.concurrent("a recorder that stands by", { timeout: patient(60_000) }, () => {
  test("takes over from one that was killed, and continues its recording without a gap", async ({ expect }) => {
    await using pair = await openPair()
    const { leader, standby } = pair
    const [ready, health, metrics, asked] = await Promise.all(
      ["/readyz", "/healthz", "/metrics", "/v1/coverage"].map((path) => standby.get(path)),
    )
    expect([ready?.status, health?.status, metrics?.status, asked?.status]).toEqual([503, 200, 200, 503])
    expect(ready?.text).toMatch(/^standby; \S+_[0-9a-f]{12} holds the Lease default\/recorder since 20\S+Z\n$/)
    expect(metrics?.text).toMatch(/^kubereel_leader 0$/m)
    expect(await leader.metric("kubereel_leader")).toBe(1)
    await leader.kill()
    expect(await pair.takeover()).toBeLessThan(patient(leaseMs + 1000))
    expect(await standby.metric("kubereel_leader")).toBe(1)
    expect(await pair.difference()).toEqual(nothing)
    expect(await standby.stop()).toMatchObject({ code: 0 })
  })

  test("takes over within 3 s from one that was told to end, which hands the Lease over", async ({ expect }) => {
    // By default a Lease that is not handed over is valid for 15 s.
    await using pair = await openPair(election)
    const stopping = pair.leader.stop()
    expect(await pair.takeover()).toBeLessThan(patient(3000))
    expect(await stopping).toMatchObject({ code: 0 })
    expect(await pair.difference()).toEqual(nothing)
  })

  test("waits for the directory of one that is paused, which ends with 5 when it wakes, and nothing is recorded twice", async ({
    expect,
  }) => {
    await using pair = await openPair()
    const { leader, standby } = pair
    leader.child.kill("SIGSTOP")
    await standby.says(
      new RegExp(
        `holds the Lease default/recorder, but waits: data directory .* is in use by another recorder: process ${leader.child.pid} on host .* which holds the Lease default/recorder`,
      ),
    )
    expect((await standby.get("/readyz")).status).toBe(503)
    leader.child.kill("SIGCONT")
    expect(await leader.ended).toMatchObject({ code: 5 })
    await logged(leader, /another recorder may take over now/)
    await pair.takeover()
    expect(await pair.difference()).toEqual(nothing)
  })

  test("takes over from one that is cut off, which ends with 5 before that", async ({ expect }) => {
    await using pair = await openPair()
    const { leader, standby } = pair
    pair.cut()
    const first = await Promise.race([
      leader.ended.then(({ code }) => code),
      standby.says(/this recorder holds the Lease/).then(() => "another one leads"),
    ])
    expect(first).toBe(5)
    await logged(leader, /leadership lost.*another recorder may take over now/s)
    await pair.takeover()
    expect(await pair.difference()).toEqual(nothing)
  })
})

describe("beside a recorder with a Lease", { timeout: patient(30_000) }, () => {
  test("one without is refused its directory and told of the Lease; one with it stands by until it is stopped, which is no failure", async ({
    expect,
  }) => {
    await using place = new Workplace()
    await using sandbox = await Sandbox.start()
    const cluster = { server: sandbox.url }
    const leader = place.record({ cluster, more: lease })
    await leader.ready()
    const second = place.record({ cluster })
    expect(await second.ended).toMatchObject({ code: 1 })
    await logged(
      second,
      new RegExp(
        `is in use by another recorder: process ${leader.child.pid} on host .*, running since \\d{4}-.*, which holds the Lease default/recorder\\. Stop that process, .* --lease default/recorder\\.`,
      ),
    )
    const standby = place.record({ cluster, more: lease })
    await standby.says(/standby; \S+ holds the Lease/)
    expect(await standby.stop()).toMatchObject({ code: 0 })
    expect(standby.log).not.toMatch(/WARN|ERROR/)
  })

  test("one whose directory cannot be used says so when it starts, not when it takes over", async ({ expect }) => {
    await using place = new Workplace()
    await using sandbox = await Sandbox.start()
    const cluster = { server: sandbox.url }
    await place.record({ cluster, more: lease }).ready()
    const dataDir = `${place.write("file", "")}/below`
    const standby = place.record({ cluster, dataDir, more: lease })
    expect(await standby.ended).toMatchObject({ code: 1 })
    await logged(standby, /ERROR data directory .*below is not a directory/)
  })
})
