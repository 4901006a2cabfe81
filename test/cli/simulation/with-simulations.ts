/** A sandbox with the definitions of Simulations, whose controller the test plays, and commands that use it by a kubeconfig. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach } from "vitest"
import { reel } from "../../../src/cli/reel.ts"
import { LocalCluster, writeKubeconfig } from "../../../src/sandbox/index.ts"
import { type Simulation, simulationDefinitions, simulationKind } from "../../../src/simulation/index.ts"
import { eventually } from "../../harness/eventually.ts"
import { type CapturedTerminal, capturedTerminal } from "../captured-terminal.ts"

export interface SimulationCluster {
  readonly cluster: LocalCluster
  /** For files of a test. */
  readonly directory: string
  /** Runs `reel` with `--kubeconfig`. */
  readonly run: (...argv: string[]) => Ran
  readonly get: (name: string) => Promise<Simulation>
  /** What the controller and the driver write. */
  readonly report: (name: string, status: object) => Promise<void>
}

interface Ran {
  readonly terminal: CapturedTerminal
  /** The exit code. */
  readonly code: Promise<number>
}

/** For a test file: each test gets a cluster of its own. */
export const simulationClusters = (): SimulationCluster => {
  const made = {} as { -readonly [Key in keyof SimulationCluster]: SimulationCluster[Key] }
  beforeEach(async () => {
    const directory = mkdtempSync(join(tmpdir(), "kubereel-simulations-"))
    const cluster = await LocalCluster.start({ nodes: 0 })
    const kubeconfig = join(directory, "kubeconfig")
    await writeKubeconfig(kubeconfig, cluster.sandbox.url)
    for (const definition of simulationDefinitions())
      await cluster.sandbox.request({ method: "POST", path: definitions, body: definition })
    const { client } = cluster
    Object.assign(made, {
      cluster,
      directory,
      run: (...argv: string[]): Ran => {
        const terminal = capturedTerminal()
        return { terminal, code: reel([...argv, "--kubeconfig", kubeconfig], terminal) }
      },
      get: (name: string) => client.get<Simulation>(simulationKind, { name }),
      report: async (name: string, status: object): Promise<void> => {
        await eventually(() => client.get(simulationKind, { name }))
        const complete = { observedGeneration: 1, ...status }
        await client.patch(simulationKind, { name }, "merge", { status: complete }, { subresource: "status" })
      },
    })
  })
  afterEach(async () => {
    await made.cluster.close()
    rmSync(made.directory, { recursive: true, force: true })
  })
  return made
}

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

/** A condition of the status. */
export const condition = (type: string, status: "True" | "False", reason: string, message: string): object => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: "2026-11-23T12:00:00Z",
})
