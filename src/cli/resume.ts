/** `reel resume`. */
import type { Command } from "./command-line/command.ts"
import { clusterVariables } from "./command-line/variables.ts"
import { pausing } from "./simulation/pausing.ts"
import { clusterOptions } from "./simulation/simulation-cluster.ts"

export const resumeCommand = (): Command =>
  pausing(
    {
      name: "reel resume",
      summary: "Resumes a paused Simulation where it stopped.",
      options: clusterOptions,
      operand: { placeholder: "NAME", help: "name of the Simulation", count: 1 },
      exitCodes: { failed: "it is running already, has ended, or does not exist" },
      environment: clusterVariables,
      examples: ["reel resume monday"],
      seeAlso: ["reel pause", "reel status"],
    },
    false,
  )
