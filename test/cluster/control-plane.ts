/**
 * Global set-up of the cluster suite: the cluster of KUBEREEL_TEST_KUBECONFIG, or one for each worker, which are stopped and removed at the end.
 */

import { spawn } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { TestProject } from "vitest/node"
import { freePorts } from "./free-ports.ts"

/** Names the kubeconfigs of all workers to them, a line each. */
export const kubeconfigsVariable = "KUBEREEL_TEST_KUBECONFIGS"

const script = (name: string): string => fileURLToPath(new URL(`control-plane/${name}`, import.meta.url))

/** Of one control plane, from its first on. */
const portsEach = 3

/**
 * @returns the tear-down, for the first of the projects that call this.
 * @throws Error when no cluster is named and none can be started; the script prints why on standard error.
 */
export default async ({ vitest }: TestProject): Promise<(() => Promise<void>) | undefined> => {
  if (process.env[kubeconfigsVariable] !== undefined) return undefined
  const named = process.env.KUBEREEL_TEST_KUBECONFIG
  if (named) {
    process.env[kubeconfigsVariable] = named
    return undefined
  }
  const { maxWorkers } = vitest.config
  const first = await freePorts(portsEach * maxWorkers)
  const planes = await Promise.all(
    Array.from({ length: maxWorkers }, async (_, index) => {
      // Separate state and ports: a cluster that someone keeps running with the script's defaults is left alone.
      const directory = await mkdtemp(join(tmpdir(), "kubereel-cluster-"))
      const environment = { ...process.env, STATE: directory, PORT: String(first + portsEach * index), AUDIT: "1" }
      return { directory, environment }
    }),
  )
  const down = async (): Promise<void> => {
    for (const { directory, environment } of planes) {
      await run(script("down"), environment)
      await rm(directory, { recursive: true, force: true })
    }
  }
  try {
    const kubeconfigs: string[] = []
    // One after the other: the first may have to build the programs.
    for (const { environment } of planes) kubeconfigs.push(await run(script("up"), environment))
    process.env[kubeconfigsVariable] = kubeconfigs.join("\n")
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
