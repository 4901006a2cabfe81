/** `reel pause`. */
import type { Command } from "./command-line/command.ts"
import { clusterVariables } from "./command-line/variables.ts"
import { pausing } from "./simulation/pausing.ts"
import { clusterOptions } from "./simulation/simulation-cluster.ts"

export const pauseCommand = (): Command =>
  pausing(
    {
      name: "reel pause",
      summary: "Pauses a Simulation: the trace's time stops within a second.",
      options: clusterOptions,
      operand: { placeholder: "NAME", help: "name of the Simulation", count: 1 },
      exitCodes: { failed: "it is paused already, has ended, or does not exist" },
      environment: clusterVariables,
      examples: ["reel pause monday"],
      seeAlso: ["reel resume", "reel status"],
    },
    true,
  )
