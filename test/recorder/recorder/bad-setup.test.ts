/** A mistake before recording begins is reported at once in one line that says what to do, with its exit code. */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { describe, test } from "vitest"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { patient } from "../../harness/patience.ts"
import { kubeconfigOf, type RecorderProcess, Workplace } from "./recorder-command.ts"

/** A start that fails must not go through the back-off of a crashing actor: five restarts take 3 s and more. */
const linesOfFailedStart = async (recorder: RecorderProcess): Promise<ReadonlyArray<string>> => {
  const { code } = await recorder.ended
  if (code !== 1) throw new Error(`exit code ${code}:\n${recorder.log}`)
  if (recorder.log.includes("started again")) throw new Error(`an actor was tried again:\n${recorder.log}`)
  return recorder.log.trimEnd().split("\n")
}

const nobody = 65_534

describe.concurrent("a recorder does not start", { timeout: patient(30_000) }, () => {
  test("without a usable kubeconfig", async ({ expect }) => {
    await using place = new Workplace()
    const start = (text: string | undefined, ...more: string[]) => {
      if (text !== undefined) place.write("kubeconfig", text)
      return linesOfFailedStart(place.record({ more }))
    }
    const server = "http://127.0.0.1:1"
    expect(await start(undefined)).toEqual([
      expect.stringMatching(/ERROR kubeconfig .*\/kubeconfig cannot be read: it does not exist/),
    ])
    expect(await start("<html>Log in</html>")).toEqual([expect.stringContaining("is this a kubeconfig?")])
    expect(await start("clusters: [")).toEqual([expect.stringMatching(/not valid YAML at line 1/)])
    expect(await start(kubeconfigOf({ server }), "--context", "staging")).toEqual([
      expect.stringMatching(/context "staging" not found .*; existing contexts: sandbox/),
    ])
    const tokenFile = place.path("no-token")
    expect(await start(kubeconfigOf({ server, user: { tokenFile } }))).toEqual([
      expect.stringMatching(/token file .*\/no-token of context "sandbox" does not exist/),
    ])
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "no-such-plugin", interactiveMode: "Never" }
    expect(await start(kubeconfigOf({ server, user: { exec } }))).toEqual([
      expect.stringMatching(/credential plugin "no-such-plugin" of context "sandbox" was not found/),
    ])
  })

  test("in a data directory that cannot be written to", async ({ expect }) => {
    await using place = new Workplace()
    const cluster = { server: "http://127.0.0.1:1" }
    const file = place.write("file", "")
    const advice: ReadonlyArray<readonly [string, RegExp]> = [
      [
        "/proc/kubereel",
        /ERROR data directory \/proc\/kubereel cannot be created \(ENOENT: .*\)\. Choose another --data-dir/,
      ],
      [file, /ERROR data directory .*file is not a directory.*\. Choose another --data-dir/],
      [`${file}/below`, /ERROR data directory .*below is not a directory.*\. Choose another --data-dir/],
    ]
    for (const [dataDir, line] of advice) {
      const lines = await linesOfFailedStart(place.record({ cluster, dataDir }))
      expect(lines).toEqual([expect.stringMatching(line)])
      expect(lines.join()).not.toContain("permission to it")
    }
    const readOnly = place.path("read-only")
    mkdirSync(readOnly, { mode: 0o555 })
    chmodSync(place.directory, 0o755)
    // Permissions do not bind root.
    const user = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}
    // The code occurs once.
    expect(await linesOfFailedStart(place.record({ cluster, dataDir: readOnly, options: user }))).toEqual([
      expect.stringMatching(/read-only is not writable \(EACCES: permission denied/),
    ])
  })

  test("in a data directory in use by another recorder, and starts when that one has ended, in any way", async ({
    expect,
  }) => {
    await using place = new Workplace()
    await using sandbox = await Sandbox.start()
    const cluster = { server: sandbox.url }
    const first = place.record({ cluster })
    await first.ready()
    const line = new RegExp(
      `ERROR data directory .* is in use by another recorder: process ${first.child.pid} on host .*, running since \\d{4}-`,
    )
    expect(await linesOfFailedStart(place.record({ cluster }))).toEqual([expect.stringMatching(line)])
    await first.kill()
    const third = place.record({ cluster })
    await third.ready()
    expect(await third.stop()).toMatchObject({ code: 0 })
  })

  test("and leaves no temporary directory behind, unless it started", async ({ expect }) => {
    await using place = new Workplace()
    await using sandbox = await Sandbox.start()
    mkdirSync(place.path("temporary"))
    const made = () => readdirSync(place.path("temporary")).filter((name) => name.startsWith("kubereel-"))
    const options = {
      wrapped: (words: ReadonlyArray<string>) => ["env", `TMPDIR=${place.path("temporary")}`, ...words],
    }
    const start = { cluster: { server: sandbox.url }, dataDir: "none", options }
    // The directory can be created, but nothing can be written in it.
    const noRoom = (words: ReadonlyArray<string>) => ["prlimit", "--fsize=0", ...options.wrapped(words)]
    const failed = place.record({ ...start, options: { wrapped: noRoom } })
    expect(await linesOfFailedStart(failed)).toEqual([expect.stringMatching(/ERROR .*\/kubereel-/)])
    expect(made()).toEqual([])
    const recorder = place.record(start)
    await recorder.ready()
    expect(await recorder.stop()).toMatchObject({ code: 0 })
    expect(made()).toHaveLength(1)
    expect(readdirSync(place.path(`temporary/${made()[0]}`))).toContain("recording.db")
  })

  test("on a file that is no recording, which it does not modify; a damaged one it moves aside as it is", async ({
    expect,
  }) => {
    await using place = new Workplace()
    await using sandbox = await Sandbox.start()
    const cluster = { server: sandbox.url }
    const recorder = place.record({ cluster })
    await recorder.ready()
    for (let number = 0; number < 50; number++) {
      sandbox.put("v1.ConfigMap", {
        metadata: { namespace: "shop", name: `object-${number}` },
        data: { number: `${number}` },
      })
    }
    await recorder.until(async () => (await recorder.exported()).length === 50, "fifty events")
    await recorder.stop()
    const path = place.path("data/recording.db")
    const whole = readFileSync(path)
    const damages: ReadonlyArray<(bytes: Buffer) => Buffer> = [
      // The schema, on the first page after the header.
      (bytes) => bytes.fill(0xff, 100, 4096),
      (bytes) => bytes.subarray(0, bytes.length / 2),
    ]
    for (const damage of damages) {
      const damaged = Buffer.from(damage(Buffer.from(whole)))
      writeFileSync(path, damaged)
      const successor = place.record({ cluster })
      const [, aside = ""] = await successor.says(/ERROR the recording is damaged and was set aside in (\S+);/)
      await successor.ready()
      await successor.stop()
      expect(readFileSync(`${aside}/recording.db`).equals(damaged)).toBe(true)
    }
    // The first bytes identify a file. Whether it once was a recording cannot be determined without them.
    for (const other of [Buffer.from("Notes.\n".repeat(100)), Buffer.from(whole).fill(0x55, 0, 64)]) {
      writeFileSync(path, other)
      expect(await linesOfFailedStart(place.record({ cluster }))).toEqual([
        expect.stringMatching(/ERROR .*data contains no recording: recording\.db is not a database, .*Check the path/),
      ])
      expect(readFileSync(path).equals(other)).toBe(true)
    }
  })

  test("at an address that cannot be listened on, even while the API server does not respond, and leaves no trace", async ({
    expect,
  }) => {
    await using place = new Workplace()
    await using sandbox = await Sandbox.start()
    sandbox.faults.blackHole()
    const server = createServer()
    const port = await new Promise<number>((resolve) =>
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        resolve(typeof address === "object" && address !== null ? address.port : 0)
      }),
    )
    try {
      const start = (...more: string[]) => linesOfFailedStart(place.record({ cluster: { server: sandbox.url }, more }))
      expect(await start("--listen", String(port))).toEqual([
        expect.stringContaining(
          `port ${port} on 127.0.0.1 is in use; choose another with --listen (port 0 is any free one)`,
        ),
      ])
      // A port in use must not leave a lock and an empty recording in a directory that the user named.
      expect(existsSync(place.path("data"))).toBe(false)
      // TEST-NET-1: belongs to no one.
      expect(await start("--listen", "192.0.2.1:0", "--allow-anonymous")).toEqual([
        expect.stringContaining("192.0.2.1 is not an address of this machine; choose one with --listen"),
      ])
      expect(await start("--listen", "no-such-host.invalid:0", "--allow-anonymous")).toEqual([
        expect.stringContaining("host no-such-host.invalid not found; choose an address of this machine with --listen"),
      ])
    } finally {
      server.close()
    }
  })
})
