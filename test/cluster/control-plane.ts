/**
 * Global set-up of the cluster suite: the cluster of KUBEREEL_TEST_KUBECONFIG, or one of its own, which is stopped and
 * removed at the end. Test files find either through that variable.
 */

import { spawn } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const script = (name: string): string => fileURLToPath(new URL(`control-plane/${name}`, import.meta.url))

/** @throws Error when no cluster is named and none can be started; the script prints why on standard error. */
export default async (): Promise<(() => Promise<void>) | undefined> => {
  if (process.env.KUBEREEL_TEST_KUBECONFIG) return undefined
  // Separate state and ports: a cluster that someone keeps running with the script's defaults is left alone.
  const directory = await mkdtemp(join(tmpdir(), "kubereel-cluster-"))
  const environment = { ...process.env, STATE: directory, PORT: String(await freePorts(3)), AUDIT: "1" }
  const down = async (): Promise<void> => {
    await run(script("down"), environment)
    await rm(directory, { recursive: true, force: true })
  }
  try {
    process.env.KUBEREEL_TEST_KUBECONFIG = await run(script("up"), environment)
  } catch (cause) {
    await down()
    throw cause
  }
  return down
}

/** Runs a script to its end; returns its standard output. Its standard error is ours: a first build takes minutes. */
const run = (file: string, env: NodeJS.ProcessEnv): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn(file, { env, stdio: ["ignore", "pipe", "inherit"] })
    const output: Buffer[] = []
    child.stdout.on("data", (chunk: Buffer) => output.push(chunk))
    child.on("error", reject)
    child.on("close", (code) => {
      if (code === 0) resolve(Buffer.concat(output).toString("utf8").trim())
      else reject(new Error(`the cluster suite cannot run: ${file} ended with code ${code}`))
    })
  })

/** The first of `count` consecutive loopback ports that are free at the moment. */
const freePorts = async (count: number): Promise<number> => {
  // Below the range that the kernel hands out for outgoing connections, so that none of those gets in between.
  for (let first = 17_443; first < 32_000; first += count) {
    const ports = Array.from({ length: count }, (_, index) => first + index)
    if ((await Promise.all(ports.map(isFree))).every(Boolean)) return first
  }
  throw new Error(`no ${count} consecutive ports are free`)
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
    server.on("error", () => resolve(false))
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)))
  })
