/** `reel pause` and `reel resume`. */
import { simulationKind } from "../../simulation/api/derived-names.ts"
import type { Simulation } from "../../simulation/api/simulation.ts"
import type { CommandSyntax } from "../command-line/arguments.ts"
import { type Command, command } from "../command-line/command.ts"
import { exitCodes } from "../command-line/exit-codes.ts"
import { clusterOptions, inCluster, SimulationProblem } from "./simulation-cluster.ts"

const operand = { placeholder: "NAME", help: "name of the Simulation", count: 1 }

const pauseSyntax: CommandSyntax<typeof clusterOptions> = {
  name: "reel pause",
  summary: "Pauses a Simulation: the trace's time stops within a second.",
  options: clusterOptions,
  operand,
  examples: ["reel pause monday"],
}

const resumeSyntax: CommandSyntax<typeof clusterOptions> = {
  name: "reel resume",
  summary: "Resumes a paused Simulation where it stopped.",
  options: clusterOptions,
  operand,
  examples: ["reel resume monday"],
}

const changing = (syntax: CommandSyntax<typeof clusterOptions>, isPausing: boolean): Command =>
  command(syntax, (given, terminal, [name = ""]) =>
    inCluster(syntax.name, given, terminal, async (client) => {
      const { metadata, spec, status } = await client.get<Simulation>(simulationKind, { name })
      const state = status?.state
      const isPaused = spec.pausedTime != null
      if (state === "Finished" || state === "Failed")
        throw new SimulationProblem(`the Simulation ${name} has ended (${state})`)
      if (isPaused && isPausing) throw new SimulationProblem(`the Simulation ${name} is paused already`)
      if (!isPaused && !isPausing) throw new SimulationProblem(`the Simulation ${name} is not paused`)
      const pausedTime = isPausing ? new Date().toISOString() : null
      // The version guards against two people who pause and resume at once.
      const { resourceVersion } = metadata
      await client.patch(simulationKind, { name }, "merge", { metadata: { resourceVersion }, spec: { pausedTime } })
      terminal.standardError.write(`${syntax.name}: ${isPausing ? "paused" : "resumed"} the Simulation ${name}\n`)
      return exitCodes.ok
    }),
  )

export const pauseCommand = (): Command => changing(pauseSyntax, true)
export const resumeCommand = (): Command => changing(resumeSyntax, false)
