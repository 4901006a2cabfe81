/** `reel pause`. */
import type { Command } from "./command-line/command.ts"
import { pausing } from "./simulation/pausing.ts"
import { clusterOptions } from "./simulation/simulation-cluster.ts"

export const pauseCommand = (): Command =>
  pausing(
    {
      name: "reel pause",
      summary: "Pauses a Simulation: the trace's time stops within a second.",
      options: clusterOptions,
      operand: { placeholder: "NAME", help: "name of the Simulation", count: 1 },
      examples: ["reel pause monday"],
    },
    true,
  )
