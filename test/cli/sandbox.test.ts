import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { get as getOverTls } from "node:https"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { sandboxCommand } from "../../src/cli/sandbox.ts"
import { type CapturedTerminal, capturedTerminal } from "./captured-terminal.ts"

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "kubereel-sandbox-"))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const run = (terminal: CapturedTerminal, ...argv: string[]): Promise<number> => sandboxCommand().run(argv, terminal)

/** Resolves when the command has printed how to use it. */
const started = async (terminal: CapturedTerminal): Promise<string> => {
  for (;;) {
    const server = /API server +(\S+)/.exec(terminal.standardOutput.text())?.[1]
    if (server !== undefined && terminal.standardOutput.text().includes("Ctrl-C")) return server
    await new Promise((resolve) => setImmediate(resolve))
  }
}

describe("reel sandbox", () => {
  test("serves a cluster with nodes until it is interrupted, and writes a kubeconfig that only its owner can read", async () => {
    const terminal = capturedTerminal()
    const kubeconfig = join(directory, "kubeconfig")
    const ended = run(terminal, "--listen", "0", "--nodes", "2", "--kubeconfig", kubeconfig)
    const server = await started(terminal)
    const nodes = (await (await fetch(`${server}/api/v1/nodes`)).json()) as { readonly items: ReadonlyArray<unknown> }
    expect(nodes.items).toHaveLength(2)
    expect(statSync(kubeconfig).mode & 0o777).toBe(0o600)
    const { clusters } = JSON.parse(readFileSync(kubeconfig, "utf8"))
    expect(clusters[0].cluster.server).toBe(server)
    terminal.interrupt()
    expect(await ended).toBe(exitCodes.ok)
    expect(terminal.listeners()).toBe(0)
    await expect(fetch(`${server}/version`)).rejects.toThrow()
  })

  test("with authorization writes the kubeconfig of an administrator, and others have no rights", async () => {
    const terminal = capturedTerminal()
    const kubeconfig = join(directory, "kubeconfig")
    const ended = run(terminal, "--listen", "0", "--nodes", "0", "--kubeconfig", kubeconfig, "--authorization", "rbac")
    const server = await started(terminal)
    const { users, clusters } = JSON.parse(readFileSync(kubeconfig, "utf8"))
    const { cluster } = clusters[0]
    const ca = Buffer.from(cluster["certificate-authority-data"], "base64").toString()
    const statusWith = (headers: Record<string, string>): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        getOverTls(`${cluster.server}/api/v1/secrets`, { headers, ca, agent: false }, (response) => {
          response.resume()
          resolve(response.statusCode)
        }).on("error", reject)
      })
    expect(server).toMatch(/^https:/)
    expect(await statusWith({ Authorization: `Bearer ${users[0].user.token}` })).toBe(200)
    expect(await statusWith({})).toBe(403)
    terminal.interrupt()
    expect(await ended).toBe(exitCodes.ok)
  })

  test("replaces the kubeconfig of an earlier sandbox, and any other only if told to", async () => {
    const kubeconfig = join(directory, "kubeconfig")
    writeFileSync(kubeconfig, "apiVersion: v1\nkind: Config\n")
    const refused = capturedTerminal()
    expect(await run(refused, "--listen", "0", "--kubeconfig", kubeconfig)).toBe(exitCodes.usage)
    expect(refused.standardError.text()).toContain(
      "is not a sandbox kubeconfig; name another file with --kubeconfig, or overwrite it with --force",
    )
    for (const force of [["--force"], []]) {
      const terminal = capturedTerminal()
      const ended = run(terminal, "--listen", "0", "--nodes", "0", "--kubeconfig", kubeconfig, ...force)
      await started(terminal)
      terminal.interrupt()
      expect(await ended).toBe(exitCodes.ok)
    }
  })

  test("reports a port in use, with advice", async () => {
    const taken = createServer().listen(0, "127.0.0.1")
    await new Promise((resolve) => taken.once("listening", resolve))
    const { port } = taken.address() as { readonly port: number }
    const terminal = capturedTerminal()
    const code = await run(terminal, "--listen", String(port), "--kubeconfig", join(directory, "kubeconfig"))
    taken.close()
    expect(code).toBe(exitCodes.failed)
    expect(terminal.standardError.text()).toBe(
      `reel sandbox: port ${port} is in use; choose another with --listen, or use 0 for any free port\n`,
    )
  })

  test("reports which file it cannot write", async () => {
    const terminal = capturedTerminal()
    const code = await run(
      terminal,
      "--listen",
      "0",
      "--nodes",
      "0",
      "--kubeconfig",
      join(directory, "no", "kubeconfig"),
    )
    expect(code).toBe(exitCodes.failed)
    expect(terminal.standardError.text()).toMatch(
      /cannot write .*no\/kubeconfig: its directory does not exist\. Create it first/,
    )
  })
})
