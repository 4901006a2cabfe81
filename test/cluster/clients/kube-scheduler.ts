/** The real kube-scheduler, as the control plane's script builds it. */

import { spawn } from "node:child_process"
import { readdir, stat } from "node:fs/promises"
import { homedir } from "node:os"
import { join } from "node:path"

/** The newest one that test/cluster/control-plane/up has built: one program with a command for each component. @throws Error when there is none. */
const controlPlaneBinary = async (environment: NodeJS.ProcessEnv): Promise<string> => {
  const folder = environment.BIN ?? join(environment.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "control-plane-bin")
  const names = (await readdir(folder)).filter((name) => /^control-plane-[0-9a-f]+$/.test(name))
  const built = await Promise.all(
    names.map(async (name) => ({ path: join(folder, name), at: (await stat(join(folder, name))).mtimeMs })),
  )
  const [newest] = built.sort((left, right) => right.at - left.at)
  if (newest === undefined) throw new Error(`no control plane in ${folder}: let test/cluster/control-plane/up build it`)
  return newest.path
}

export interface KubeScheduler {
  /** What it logged so far. */
  readonly log: () => string
  readonly stop: () => Promise<void>
}

export const startKubeScheduler = async (kubeconfig: string): Promise<KubeScheduler> => {
  const { KUBECONFIG: _never, ...env } = process.env
  const words = ["scheduler", "--kubeconfig", kubeconfig, "--leader-elect=false", "--secure-port=0"]
  const child = spawn(await controlPlaneBinary(process.env), words, { env, stdio: ["ignore", "pipe", "pipe"] })
  const parts: Buffer[] = []
  child.stdout.on("data", (part: Buffer) => parts.push(part))
  child.stderr.on("data", (part: Buffer) => parts.push(part))
  const ended = new Promise<void>((resolve, reject) => {
    child.on("error", reject)
    child.on("close", () => resolve())
  })
  return {
    log: () => Buffer.concat(parts).toString("utf8"),
    stop: async () => {
      child.kill("SIGTERM")
      await ended
    },
  }
}
