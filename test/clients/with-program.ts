/** A sandbox with a cluster's controllers, its kubeconfig, and programs beside it, all of which end with the test. */

import { join } from "node:path"
import { ApiClient } from "../../src/kube/index.ts"
import {
  type ControllerName,
  controllerNames,
  Sandbox,
  WorkloadManager,
  writeKubeconfig,
} from "../../src/sandbox/index.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { reportRequests } from "./report-requests.ts"
import type { RunningProgram } from "./running-program.ts"

export interface Surroundings {
  readonly sandbox: Sandbox
  readonly kubeconfig: string
  /** For what the test itself writes. */
  readonly api: ApiClient
  /** What the sandbox's own controllers could not do. */
  readonly troubles: ReadonlyArray<string>
}

/** The user agent of the test's own requests. */
export const testsAgent = "test"

/** Runs `check` beside a cluster without the controllers of `without`. */
export const withCluster = async (
  without: ReadonlyArray<ControllerName>,
  check: (surroundings: Surroundings) => Promise<void>,
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
  const api = new ApiClient({ server: sandbox.endpoint, userAgent: testsAgent })
  try {
    await check({ sandbox, kubeconfig, api, troubles })
  } finally {
    api.close()
    reportRequests(sandbox.requests.entries())
  }
}

/** Runs `check` while the program runs. What it throws has the program's output added. */
export const withProgram = (
  without: ReadonlyArray<ControllerName>,
  start: (surroundings: Surroundings) => RunningProgram | Promise<RunningProgram>,
  check: (surroundings: Surroundings, program: RunningProgram) => Promise<void>,
): Promise<void> =>
  withCluster(without, async (surroundings) => {
    const program = await start(surroundings)
    try {
      await check(surroundings, program)
    } catch (error) {
      throw new Error(`${String(error)}\nThe program printed:\n${program.output().slice(-4000)}`, { cause: error })
    } finally {
      await program.stop()
    }
  })
