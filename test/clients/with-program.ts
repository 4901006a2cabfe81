/** A sandbox with a cluster's controllers, its kubeconfig, and programs beside it, all of which end with the test. */

import { join } from "node:path"
import { ApiClient } from "../../src/kube/client/api-client.ts"
import { Sandbox } from "../../src/sandbox/index.ts"
import { writeKubeconfig } from "../../src/sandbox/local-cluster.ts"
import { type ControllerName, controllerNames, WorkloadManager } from "../../src/sandbox/workload/workload-manager.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import type { RunningProgram } from "./running-program.ts"

interface Surroundings {
  readonly sandbox: Sandbox
  readonly kubeconfig: string
  readonly api: ApiClient
  readonly troubles: ReadonlyArray<string>
}

/** Runs `check` while the program runs. What it throws has the program's output added. */
export const withProgram = async (
  without: ReadonlyArray<ControllerName>,
  start: (surroundings: Surroundings) => RunningProgram | Promise<RunningProgram>,
  check: (surroundings: Surroundings, program: RunningProgram) => Promise<void>,
): Promise<void> => {
  await using sandbox = await Sandbox.start({ lifecycle: true })
  const troubles: string[] = []
  await using _manager = await WorkloadManager.start({
    server: sandbox.endpoint,
    nodes: 3,
    controllers: controllerNames.filter((name) => !without.includes(name)),
    onTrouble: (detail) => troubles.push(detail),
  })
  const kubeconfig = join(temporaryDirectory(), "kubeconfig")
  await writeKubeconfig(kubeconfig, sandbox.url)
  const api = new ApiClient({ server: sandbox.endpoint, userAgent: "test" })
  const surroundings = { sandbox, kubeconfig, api, troubles }
  const program = await start(surroundings)
  try {
    await check(surroundings, program)
  } catch (error) {
    throw new Error(`${String(error)}\nThe program printed:\n${program.output().slice(-4000)}`, { cause: error })
  } finally {
    await program.stop()
    api.close()
  }
}
