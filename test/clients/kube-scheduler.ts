/** Where the real kube-scheduler is that the control plane's script builds: one program with a command for each component. */

import { readdir, stat } from "node:fs/promises"
import { homedir } from "node:os"
import { join } from "node:path"

/** The newest that test/cluster/control-plane/up has built; `undefined` if there is none. */
export const controlPlaneBinary = async (environment: NodeJS.ProcessEnv = process.env): Promise<string | undefined> => {
  const folder = environment.BIN ?? join(environment.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "control-plane-bin")
  const all = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return []
    throw error
  })
  const names = all.filter((name) => /^control-plane-[0-9a-f]+$/.test(name))
  const built = await Promise.all(
    names.map(async (name) => ({ path: join(folder, name), at: (await stat(join(folder, name))).mtimeMs })),
  )
  return built.sort((left, right) => right.at - left.at)[0]?.path
}

export const schedulerWords = (kubeconfig: string): ReadonlyArray<string> => [
  "scheduler",
  "--kubeconfig",
  kubeconfig,
  "--leader-elect=false",
  "--secure-port=0",
]
