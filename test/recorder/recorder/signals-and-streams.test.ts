/** How a recorder ends and where its output goes: signals, closed pipes, log formats, a terminal. */
import { describe, test } from "vitest"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { alike, isThorough } from "../../harness/effort.ts"
import { patient } from "../../harness/patience.ts"
import { differences, ledgerOf } from "../recorded/recorded-sandbox.ts"
import { Workload } from "../recorded/workload.ts"
import { onTerminal, Workplace } from "./recorder-command.ts"

const kinds = { "apps/v1.Deployment": "{detect: all}", "v1.ConfigMap": "{detect: all}" }

describe.concurrent("a recorder", { timeout: patient(40_000) }, () => {
  test.for(alike(["SIGINT", "SIGTERM"] as const))(
    "told by %s under load ends at once with 0, and everything is on disk",
    async (signal, { expect }) => {
      await using place = new Workplace()
      await using sandbox = await Sandbox.start()
      const seed = Number(process.env.KUBEREEL_TEST_SEED ?? Date.now() % 1_000_000)
      const workload = new Workload(sandbox, Object.keys(kinds), seed)
      const recorder = place.record({ cluster: { server: sandbox.url }, kinds })
      await recorder.ready()
      try {
        workload.start(3000)
        const total = async () => (await recorder.metric("kubereel_store_events_total")) ?? 0
        await recorder.until(async () => (await total()) > 1000, "a thousand events")
        const { code, tookMs } = await recorder.stop(signal)
        expect(code, recorder.log).toBe(0)
        expect(tookMs).toBeLessThan(patient(2500))
      } finally {
        workload.stop()
      }
      const said = Number(/recorded ([\d,]+) objects and changes/.exec(recorder.log)?.[1]?.replaceAll(",", ""))
      // A server that is down adds nothing: the next recorder exports what the first has written.
      await sandbox.faults.refuseConnections()
      const later = place.record({ cluster: { server: sandbox.url }, kinds })
      expect(await later.exported()).toHaveLength(said)
      await sandbox.faults.acceptConnections()
      const wanted = Object.keys(kinds).flatMap((gvk) => ledgerOf(sandbox, gvk))
      await later.until(async () => (await later.exported()).length >= wanted.length, "the rest", 20_000)
      const exported = (await later.exported()) as unknown as Parameters<typeof differences>[0]
      for (const gvk of Object.keys(kinds))
        expect(differences(exported, ledgerOf(sandbox, gvk), gvk), `seed ${seed}`).toEqual({})
    },
  )

  test("stopped while its watchers start does not wait for replies", async ({ expect }) => {
    await using place = new Workplace()
    await using sandbox = await Sandbox.start()
    for (const delayMs of isThorough() ? [0, 30, 60, 90, 120, 150] : [0, 90]) {
      const recorder = place.record({ cluster: { server: sandbox.url }, kinds })
      await recorder.listening()
      // Various moments, not a wait: in some of them the stored state is on its way to the watchers.
      await new Promise((resolve) => setTimeout(resolve, delayMs))
      const { tookMs } = await recorder.stop()
      expect(tookMs, `${delayMs} ms after it listened:\n${recorder.log}`).toBeLessThan(patient(2000))
    }
  })

  test("signalled twice ends at once with 130", async ({ expect }) => {
    await using place = new Workplace()
    await using sandbox = await Sandbox.start()
    const recorder = place.record({ cluster: { server: sandbox.url } })
    await recorder.ready()
    // Both before the first is handled: they are delivered together when the process runs again.
    recorder.child.kill("SIGSTOP")
    recorder.child.kill("SIGTERM")
    recorder.child.kill("SIGINT")
    recorder.child.kill("SIGCONT")
    expect(await recorder.ended).toMatchObject({ code: 130 })
    expect(recorder.log).toMatch(/again: exiting immediately/)
  })

  test("continues after its log and its input are closed", async ({ expect }) => {
    await using place = new Workplace()
    await using sandbox = await Sandbox.start()
    const options = { stdio: ["pipe", "pipe", "pipe"] as ["pipe", "pipe", "pipe"] }
    const recorder = place.record({ cluster: { server: sandbox.url }, more: ["-v"], options })
    await recorder.ready()
    recorder.child.stdin?.destroy()
    recorder.child.stdout?.destroy()
    recorder.child.stderr?.destroy()
    for (let number = 0; number < 20; number++) {
      sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name: `object-${number}` } })
      // Each is a log line to a closed pipe.
      await recorder.until(async () => (await recorder.exported()).length > number, "the event")
    }
    expect(await recorder.stop()).toMatchObject({ code: 0 })
  })

  test("keeps a bounded part of a log that no one reads, and reports how much is missing once it is read", async ({
    expect,
  }) => {
    await using place = new Workplace()
    await using sandbox = await Sandbox.start()
    const recorder = place.record({ cluster: { server: sandbox.url }, more: ["-v"] })
    await recorder.ready()
    recorder.child.stderr?.pause()
    // Lines of 300 bytes: 3 MB, of which a pipe takes 64 kB.
    const count = 10_000
    for (let number = 0; number < count; number++) {
      sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name: `${"object".padEnd(230, "-")}${number}` } })
      if (number % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    const total = async () => (await recorder.metric("kubereel_store_events_total")) ?? 0
    await recorder.until(async () => (await total()) === count, "all events to be recorded", 20_000)
    recorder.child.stderr?.resume()
    const [, dropped = ""] = await recorder.says(/WARN {2}([\d,]+) log lines dropped here: standard error was not read/)
    const missing = Number(dropped.replaceAll(",", ""))
    expect(missing).toBeGreaterThan(count / 4)
    // Among the dropped lines are a few that are not of events, as of a checkpoint.
    const applied = recorder.log.match(/ObjectApplied @/g)?.length
    expect(applied).toBeGreaterThanOrEqual(count - missing)
    expect(applied).toBeLessThan(count - missing + 20)
    expect(await recorder.stop()).toMatchObject({ code: 0 })
  })

  test("logs every event at -v, as JSON if requested", async ({ expect }) => {
    await using place = new Workplace()
    await using sandbox = await Sandbox.start()
    const recorder = place.record({
      cluster: { server: sandbox.url },
      kinds: { "apps/v1.Deployment": "{}", "v1.Namespace": "{}" },
      more: ["-v", "--log-format", "json"],
    })
    await recorder.ready()
    sandbox.put("apps/v1.Deployment", { metadata: { namespace: "shop", name: "web" } })
    await recorder.says(/ObjectApplied @ [^ ]+: apps/)
    sandbox.delete("apps/v1.Deployment", "shop", "web")
    await recorder.says(/ObjectDeleted/)
    await recorder.stop()
    const lines = recorder.log
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
    for (const line of lines) {
      expect(line).toMatchObject({ time: expect.stringMatching(/^\d{4}-.*Z$/), message: expect.any(String) })
      expect(["debug", "info", "warn", "error"]).toContain(line.level)
    }
    const events = lines.filter(({ message }) => /^Object(Applied|Deleted)/.test(String(message)))
    const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`
    expect(events.map(({ level }) => level)).toEqual(events.map(() => "debug"))
    expect(events.map(({ message }) => String(message).replace(new RegExp(`@ ${time}:`), "@ TIME:")).sort()).toEqual([
      "ObjectApplied @ TIME: apps/v1.Deployment shop/web",
      "ObjectApplied @ TIME: v1.Namespace default",
      "ObjectApplied @ TIME: v1.Namespace kube-system",
      "ObjectDeleted @ TIME: apps/v1.Deployment shop/web",
    ])
  })

  test("shows one line on a terminal, repaints it, and erases it at the end", async ({ expect }) => {
    await using place = new Workplace()
    await using sandbox = await Sandbox.start()
    sandbox.faults.respond("serviceaccounts", 403)
    sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name: "settings" } })
    const recorder = place.record({
      cluster: { server: sandbox.url },
      kinds: { "v1.ConfigMap": "{}", "apps/v1.Deployment": "{}", "v1.ServiceAccount": "{}" },
      options: { wrapped: onTerminal(110), stdio: ["pipe", "pipe", "pipe"] },
    })
    const line = String.raw`0 events/s · 1 object · lag \d+ ms · forbidden ServiceAccount · watching ConfigMap Deployment · \d+ s`
    // Painted, and painted again.
    await recorder.says(new RegExp(`\r\u001b\\[K${line}.*\r\u001b\\[K${line}`), 30_000)
    // Ctrl-C, typed.
    recorder.child.stdin?.write("\u0003")
    expect(await recorder.ended).toMatchObject({ code: 4 })
    const painted = recorder.output.split("\r\u001b[K")
    // Log lines are complete and above the status line; nothing of the status line remains after the last one.
    const logged = recorder.output.split("\r\n").filter((text) => /(INFO|WARN)/.test(text))
    expect(logged.length).toBeGreaterThan(5)
    expect(painted.at(-1)).toMatch(/v1\.ServiceAccount was forbidden at the end/)
    expect(painted.at(-1)).not.toContain("events/s")
  })
})
