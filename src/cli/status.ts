/** `reel status`: Simulations as a table or as they are, once or as they change. */

import { stringify } from "yaml"
import { backgroundClock } from "../clock.ts"
import type { ApiClient } from "../kube/index.ts"
import { type Simulation, simulationKind } from "../simulation/index.ts"
import { visible } from "../text/index.ts"
import { type CommandSyntax, flag, type OptionValues, oneOf, withDefault } from "./command-line/arguments.ts"
import { type Command, type CommandTerminal, command } from "./command-line/command.ts"
import { type ExitCode, exitCodes } from "./command-line/exit-codes.ts"
import { clusterOptions, clusterVariables } from "./command-line/shared-options.ts"
import { followSimulations } from "./simulation/follow-simulations.ts"
import { inCluster } from "./simulation/simulation-cluster.ts"
import { describeEnd, describeProgress, hasEnded, simulationTable } from "./simulation/simulation-lines.ts"
import { createLiveLine } from "./terminal/live-line.ts"
import { interruption, isLive } from "./terminal/terminal.ts"

const options = {
  watch: flag({
    short: "w",
    help: "show changes until Ctrl-C, or until the Simulation NAME has ended",
  }),
  output: withDefault(
    "table",
    "-o FORMAT",
    "table; wide: with the key figures of the latest repetition; json or yaml: the objects themselves",
    oneOf("table", "wide", "json", "yaml"),
  ),
  ...clusterOptions,
}

const syntax: CommandSyntax<typeof options> = {
  name: "reel status",
  summary: "Shows Simulations and how far they are.",
  options,
  operand: { placeholder: "NAME", help: "only this Simulation" },
  environment: clusterVariables,
  examples: ["reel status", "reel status monday --watch", "reel status -o wide"],
  seeAlso: ["reel run", "reel pause", "reel delete", "docs/guides/simulations.md"],
}

type Options = OptionValues<typeof options>

export const statusCommand = (): Command =>
  command(syntax, async (given, terminal, [name]) => {
    if (given.watch && (given.output === "json" || given.output === "yaml"))
      return "--watch shows tables; for objects use kubectl get simulations --watch -o json"
    return inCluster(given, async (client) => {
      const present = await read(client, name)
      const print = (text: string): void => void terminal.standardOutput.write(`${visible(text)}\n`)
      if (given.watch) return name === undefined ? watchAll(client, given, terminal) : watchOne(client, name, terminal)
      if (given.output === "json" || given.output === "yaml") {
        const shown = name === undefined ? { apiVersion: "v1", kind: "List", items: present } : present[0]
        terminal.standardOutput.write(
          given.output === "yaml" ? stringify(shown) : `${JSON.stringify(shown, undefined, 2)}\n`,
        )
        return exitCodes.ok
      }
      if (present.length === 0) {
        terminal.say("there are no Simulations")
        return exitCodes.ok
      }
      for (const text of simulationTable(present, given.output === "wide")) print(text)
      return exitCodes.ok
    })
  })

const read = async (client: ApiClient, name: string | undefined): Promise<ReadonlyArray<Simulation>> => {
  if (name !== undefined) return [await client.get<Simulation>(simulationKind, { name })]
  return (await client.list<Simulation>(simulationKind)).items
}

/** A table again after each change, as kubectl does: its lines can be read by programs. */
const watchAll = async (client: ApiClient, { output }: Options, terminal: CommandTerminal): Promise<ExitCode> => {
  let before: ReadonlyArray<string> = []
  await watching(terminal, (signal, onTrouble) =>
    followSimulations(client, {
      name: undefined,
      signal,
      onTrouble,
      take: (all) => {
        const lines = simulationTable(all, output === "wide")
        for (const line of lines.filter((each) => !before.includes(each)))
          terminal.standardOutput.write(`${visible(line)}\n`)
        before = lines
        return false
      },
    }),
  )
  return exitCodes.ok
}

/** One line that is kept up to date, or a line for each change where there is no terminal; at the end what has come of it. */
const watchOne = async (client: ApiClient, name: string, terminal: CommandTerminal): Promise<ExitCode> => {
  const { standardOutput, environment } = terminal
  const live = isLive(standardOutput, environment)
  using line = createLiveLine({ stream: standardOutput, isEnabled: live, clock: backgroundClock })
  let last: Simulation | undefined
  let before: string | undefined
  const how = await watching(terminal, (signal, onTrouble) =>
    followSimulations(client, {
      name,
      signal,
      onTrouble,
      take: (all) => {
        last = all[0]
        if (last === undefined) return true
        const text = visible(`${name}: ${describeProgress(last)}`)
        line.show(() => text)
        if (!live && text !== before) standardOutput.write(`${text}\n`)
        before = text
        return hasEnded(last)
      },
    }),
  )
  line.close()
  if (how === "done")
    for (const text of last === undefined ? [`${name} was deleted`] : describeEnd(last))
      standardOutput.write(`${visible(text)}\n`)
  return exitCodes.ok
}

const watching = async <T>(
  terminal: CommandTerminal,
  follow: (signal: AbortSignal, onTrouble: (detail: string) => void) => Promise<T>,
): Promise<T> => {
  using interrupted = interruption(terminal)
  return await follow(interrupted.signal, terminal.say)
}
