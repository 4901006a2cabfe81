/** `reel delete`. */

import { type Simulation, simulationKind } from "../simulation/index.ts"
import { type CommandSyntax, flag } from "./command-line/arguments.ts"
import { type Command, command } from "./command-line/command.ts"
import { exitCodes } from "./command-line/exit-codes.ts"
import { clusterOptions, clusterVariables } from "./command-line/shared-options.ts"
import { followSimulations } from "./simulation/follow-simulations.ts"
import { inCluster } from "./simulation/simulation-cluster.ts"
import { interruption } from "./terminal/terminal.ts"

const options = {
  wait: flag({ help: "wait until the Simulation and everything that it created are gone" }),
  ...clusterOptions,
}

const syntax: CommandSyntax<typeof options> = {
  name: "reel delete",
  summary: "Deletes a Simulation; one that runs is ended, and what it created is removed.",
  options,
  operand: { placeholder: "NAME", help: "name of the Simulation", count: 1 },
  environment: clusterVariables,
  examples: ["reel delete monday --wait"],
  seeAlso: ["reel run", "reel status"],
}

export const deleteCommand = (): Command =>
  command(syntax, (given, terminal, [name = ""]) =>
    inCluster(given, async (client) => {
      const { say } = terminal
      const { uid } = (await client.get<Simulation>(simulationKind, { name })).metadata
      const left = await client.delete(simulationKind, { name }, uid === undefined ? {} : { uid })
      if (left === undefined || !given.wait) {
        say(left === undefined ? `deleted the Simulation ${name}` : `the Simulation ${name} is being deleted`)
        return exitCodes.ok
      }
      using interrupted = interruption(terminal)
      const how = await followSimulations(client, {
        name,
        signal: interrupted.signal,
        onTrouble: say,
        take: (all) => all.every(({ metadata }) => metadata.uid !== uid),
      })
      say(how === "done" ? `deleted the Simulation ${name}` : "interrupted; the cluster continues the deletion")
      return how === "done" ? exitCodes.ok : exitCodes.interrupted
    }),
  )
