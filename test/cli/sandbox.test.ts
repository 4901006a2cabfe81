import { readFileSync, statSync } from "node:fs"
import { get as getOverTls } from "node:https"
import { createServer } from "node:net"
import { describe, expect, test } from "vitest"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { sandboxCommand } from "../../src/cli/sandbox.ts"
import { commandsIn, serving } from "./commands-in.ts"

const { path, write, run } = commandsIn("kubereel-sandbox-")

/** A sandbox on any port with its kubeconfig in the folder. */
const words = (...more: ReadonlyArray<string>) => ["--listen", "0", "--kubeconfig", path("kubeconfig"), ...more]
const started = (...more: ReadonlyArray<string>) => serving(sandboxCommand(), words(...more))
const kubeconfig = () => JSON.parse(readFileSync(path("kubeconfig"), "utf8"))

describe("reel sandbox", () => {
  test("serves a cluster with nodes until it is interrupted, and writes a kubeconfig that only its owner can read", async () => {
    const { url, stop } = await started("--nodes", "2")
    const nodes = (await (await fetch(`${url}/api/v1/nodes`)).json()) as { readonly items: ReadonlyArray<unknown> }
    expect(nodes.items).toHaveLength(2)
    expect(statSync(path("kubeconfig")).mode & 0o777).toBe(0o600)
    expect(kubeconfig().clusters[0].cluster.server).toBe(url)
    await stop()
    await expect(fetch(`${url}/version`)).rejects.toThrow()
  })

  test("with authorization writes the kubeconfig of an administrator, and others have no rights", async () => {
    await using server = await started("--nodes", "0", "--authorization", "rbac")
    const { users, clusters } = kubeconfig()
    const { cluster } = clusters[0]
    const ca = Buffer.from(cluster["certificate-authority-data"], "base64").toString()
    const statusWith = (headers: Record<string, string>): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        getOverTls(`${cluster.server}/api/v1/secrets`, { headers, ca, agent: false }, (response) => {
          response.resume()
          resolve(response.statusCode)
        }).on("error", reject)
      })
    expect(server.url).toMatch(/^https:/)
    expect(await statusWith({ Authorization: `Bearer ${users[0].user.token}` })).toBe(200)
    expect(await statusWith({})).toBe(403)
  })

  test("replaces the kubeconfig of an earlier sandbox, and any other only if told to", async () => {
    write("kubeconfig", "apiVersion: v1\nkind: Config\n")
    const { code, error } = await run(sandboxCommand(), words())
    expect([code, error]).toEqual([
      exitCodes.usage,
      expect.stringContaining(
        "is not a sandbox kubeconfig; name another file with --kubeconfig, or overwrite it with --force",
      ),
    ])
    for (const force of [["--force"], []]) await (await started("--nodes", "0", ...force)).stop()
  })

  test("reports a port in use, with advice", async () => {
    const taken = createServer().listen(0, "127.0.0.1")
    await new Promise((resolve) => taken.once("listening", resolve))
    const { port } = taken.address() as { readonly port: number }
    const { code, error } = await run(sandboxCommand(), words("--listen", String(port)))
    taken.close()
    expect([code, error]).toEqual([
      exitCodes.failed,
      `reel sandbox: port ${port} is in use; choose another with --listen, or use 0 for any free port\n`,
    ])
  })

  test("reports which file it cannot write", async () => {
    const argv = words("--nodes", "0", "--kubeconfig", path("no/kubeconfig"))
    const { code, error } = await run(sandboxCommand(), argv)
    expect([code, error]).toEqual([
      exitCodes.failed,
      expect.stringContaining("cannot write FOLDER/no/kubeconfig: its directory does not exist. Create it first"),
    ])
  })
})
