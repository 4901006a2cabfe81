/** `reel pause` and `reel resume`. */

import { type Simulation, simulationKind } from "../simulation/index.ts"
import { type Command, command } from "./command-line/command.ts"
import { CommandFailed, exitCodes } from "./command-line/exit-codes.ts"
import { clusterOptions, clusterVariables } from "./command-line/shared-options.ts"
import { inCluster } from "./simulation/simulation-cluster.ts"

/** What one of them says of itself. */
interface Pausing {
  readonly name: string
  readonly summary: string
  readonly failed: string
  readonly other: string
  readonly isPausing: boolean
}

/** The command that pauses a Simulation, or lets it continue. */
const pausing = ({ name: called, summary, failed, other, isPausing }: Pausing): Command =>
  command(
    {
      ...{ name: called, summary, options: clusterOptions },
      operand: { placeholder: "NAME", help: "name of the Simulation", count: 1 },
      exitCodes: { failed },
      environment: clusterVariables,
      examples: [`${called} monday`],
      seeAlso: [other, "reel status"],
    },
    (given, terminal, [name = ""]) =>
      inCluster(given, async (client) => {
        const { metadata, spec, status } = await client.get<Simulation>(simulationKind, { name })
        const state = status?.state
        const isPaused = spec.pausedTime != null
        if (state === "Finished" || state === "Failed")
          throw new CommandFailed(`the Simulation ${name} has ended (${state})`)
        if (isPaused && isPausing) throw new CommandFailed(`the Simulation ${name} is paused already`)
        if (!isPaused && !isPausing) throw new CommandFailed(`the Simulation ${name} is not paused`)
        const pausedTime = isPausing ? new Date().toISOString() : null
        // The version guards against two people who pause and resume at once.
        const { resourceVersion } = metadata
        await client.patch(simulationKind, { name }, "merge", { metadata: { resourceVersion }, spec: { pausedTime } })
        terminal.say(`${isPausing ? "paused" : "resumed"} the Simulation ${name}`)
        return exitCodes.ok
      }),
  )

export const pauseCommand = (): Command =>
  pausing({
    name: "reel pause",
    summary: "Pauses a Simulation: the trace's time stops within a second.",
    failed: "it is paused already, has ended, or does not exist",
    other: "reel resume",
    isPausing: true,
  })

export const resumeCommand = (): Command =>
  pausing({
    name: "reel resume",
    summary: "Resumes a paused Simulation where it stopped.",
    failed: "it is running already, has ended, or does not exist",
    other: "reel pause",
    isPausing: false,
  })
