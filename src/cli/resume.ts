/** `reel resume`. */
import type { Command } from "./command-line/command.ts"
import { pausing } from "./simulation/pausing.ts"
import { clusterOptions } from "./simulation/simulation-cluster.ts"

export const resumeCommand = (): Command =>
  pausing(
    {
      name: "reel resume",
      summary: "Resumes a paused Simulation where it stopped.",
      options: clusterOptions,
      operand: { placeholder: "NAME", help: "name of the Simulation", count: 1 },
      examples: ["reel resume monday"],
    },
    false,
  )
