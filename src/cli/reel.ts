/** `reel`: finds the command and runs it. Commands are loaded on demand, so that none pays for another. */
import { keepYoungGenerationsSmall } from "../runtime/index.ts"
import { nearest, quoted, visible } from "../text/index.ts"
import { UsageError } from "./command-line/arguments.ts"
import { type CommandEntry, command, commandNamed } from "./command-line/command.ts"
import { type ExitCode, exitCodes } from "./command-line/exit-codes.ts"
import { renderExitCodes, renderHelp, renderOverview } from "./command-line/help.ts"
import { readVersion } from "./command-line/version.ts"
import { columnsOf, type Terminal } from "./terminal/terminal.ts"

/** All commands, in the order in which `reel help` lists them. */
export const commands: readonly CommandEntry[] = [
  {
    name: "record",
    summary: "Records a cluster until stopped by Ctrl-C or SIGTERM.",
    load: async () => {
      // Before its imports: 3 MB less for as long as it records.
      keepYoungGenerationsSmall()
      return (await import("./record.ts")).recordCommand()
    },
  },
  {
    name: "export",
    summary: "Exports a time window of a recording, of a running recorder or in a directory, to a file.",
    load: async () => (await import("./export.ts")).exportCommand(),
  },
  {
    name: "coverage",
    summary: "Shows what is recorded, since when, until when, and what is missing.",
    load: async () => (await import("./coverage.ts")).coverageCommand(),
  },
  {
    name: "inspect",
    aliases: ["xray"],
    summary: "Shows what is in a trace or a recording: a summary, or in a terminal its events and objects.",
    load: async () => (await import("./inspect.ts")).inspectCommand(),
  },
  {
    name: "ui",
    summary: "Shows a recording as a page in the browser: a time line, what went wrong, every change of an object.",
    load: async () => {
      // With two clusters open: 230 MB in place of 420.
      keepYoungGenerationsSmall()
      return (await import("./ui.ts")).uiCommand()
    },
  },
  {
    name: "get",
    summary: "Shows objects as they were at a moment of a recording, as kubectl get does.",
    load: async () => (await import("./get.ts")).getCommand(),
  },
  {
    name: "history",
    summary: "Shows every recorded change of an object: what differed, and who made it.",
    load: async () => (await import("./history.ts")).historyCommand(),
  },
  {
    name: "events",
    summary: "Shows what changed in a stretch of time, of all recorded kinds or some.",
    load: async () => (await import("./events.ts")).eventsCommand(),
  },
  {
    name: "diff",
    summary: "Shows what is different between two moments, or between two traces: objects and changes, field by field.",
    load: async () => (await import("./diff.ts")).diffCommand(),
  },
  {
    name: "why",
    summary:
      "Shows what led to the state or the end of an object: its owners' changes, scheduling, conditions, deletion.",
    load: async () => (await import("./why.ts")).whyCommand(),
  },
  {
    name: "pin",
    summary: "Keeps a window of a recording although retention removes what is around it.",
    load: async () => (await import("./pin.ts")).pinCommand(),
  },
  {
    name: "pins",
    summary: "Lists the windows of a recording that are kept, or removes some of them.",
    load: async () => (await import("./pins.ts")).pinsCommand(),
  },
  {
    name: "store",
    summary: "Shows what a recording takes, checks it, makes it smaller, copies it.",
    load: async () => (await import("./store.ts")).storeCommand(),
  },
  {
    name: "restore",
    summary: "Makes a recording of what a recorder has sent to an object store.",
    load: async () => (await import("./restore.ts")).restoreCommand(),
  },
  {
    name: "fleet",
    summary:
      "Looks after the streams of clusters in an object store: makes them small, shows how they are, makes facts of them and an index, asks them all.",
    load: async () => (await import("./fleet.ts")).fleetCommand(),
  },
  {
    name: "sql",
    summary: "Asks the facts of clusters in SQL, with DuckDB.",
    load: async () => (await import("./sql.ts")).sqlCommand(),
  },
  {
    name: "serve",
    summary: "Serves a recording or a trace as a read-only API server: kubectl sees the cluster as it was.",
    load: async () => (await import("./serve.ts")).serveCommand(),
  },
  {
    name: "mcp",
    summary: "Serves the past to assistants as tools, over the Model Context Protocol on standard input and output.",
    load: async () => (await import("./mcp.ts")).mcpCommand(),
  },
  {
    name: "convert",
    summary: "Converts a trace to another format, or to a view for another program.",
    load: async () => (await import("./convert.ts")).convertCommand(),
  },
  {
    name: "import",
    summary: "Makes a trace out of the audit logs of a cluster that has no recorder.",
    load: async () => (await import("./import.ts")).importCommand(),
  },
  {
    name: "validate",
    aliases: ["val"],
    summary: "Checks a trace for what a replay would trip over: missing Secrets, accounts, kinds, owners and the like.",
    load: async () => (await import("./validate.ts")).validateCommand(),
  },
  {
    name: "transform",
    aliases: ["trans"],
    summary: "Changes the objects of a trace by a program: sets and removes fields, deletes and inserts objects.",
    load: async () => (await import("./transform.ts")).transformCommand(),
  },
  {
    name: "snapshot",
    summary: "Writes a trace of a cluster's current state, without a recorder.",
    load: async () => (await import("./snapshot.ts")).snapshotCommand(),
  },
  {
    name: "replay",
    summary: "Replays a trace into another cluster, on time, and removes what it created.",
    load: async () => (await import("./replay.ts")).replayCommand(),
  },
  {
    name: "run",
    aliases: ["r"],
    summary: "Runs a Simulation: a replay in a cluster by its controller, or with --sandbox in this process.",
    load: async () => (await import("./run.ts")).runCommand(),
  },
  {
    name: "status",
    summary: "Shows Simulations and how far they are.",
    load: async () => (await import("./status.ts")).statusCommand(),
  },
  {
    name: "pause",
    summary: "Pauses a Simulation: the trace's time stops within a second.",
    load: async () => (await import("./pause.ts")).pauseCommand(),
  },
  {
    name: "resume",
    summary: "Resumes a paused Simulation where it stopped.",
    load: async () => (await import("./pause.ts")).resumeCommand(),
  },
  {
    name: "delete",
    aliases: ["d", "del", "rm"],
    summary: "Deletes a Simulation; one that runs is ended, and what it created is removed.",
    load: async () => (await import("./delete.ts")).deleteCommand(),
  },
  {
    name: "compare",
    summary: "Shows reports of several replays of one trace side by side.",
    load: async () => (await import("./compare.ts")).compareCommand(),
  },
  {
    name: "sandbox",
    summary: "Runs an in-memory Kubernetes API server with controllers and virtual nodes until Ctrl-C.",
    load: async () => (await import("./sandbox.ts")).sandboxCommand(),
  },
  {
    name: "host",
    summary: "Runs the controllers of a directory in one process with shared watches.",
    load: async () => (await import("./host.ts")).hostCommand(() => import("./host-replay.ts")),
  },
  {
    name: "controller",
    summary: "Runs the Simulations of a cluster, one at a time, until Ctrl-C or SIGTERM.",
    load: async () => (await import("./controller.ts")).controllerCommand(),
  },
  {
    name: "driver",
    summary: "Replays one repetition of a Simulation; the controller of Simulations starts it.",
    load: async () => (await import("./driver.ts")).driverCommand(),
  },
  {
    name: "k8s",
    summary:
      "Prints manifests that run a recorder, controllers, or Simulations in a cluster with the minimum permissions they need.",
    load: async () => (await import("./k8s.ts")).k8sCommand(),
  },
  {
    name: "crd",
    summary: "Prints the CustomResourceDefinitions of Simulations, or TypeScript types of other ones.",
    load: async () => (await import("./crd.ts")).crdCommand(),
  },
  {
    name: "completions",
    summary: "Prints a script that completes commands, options and their values in a shell.",
    load: async () => (await import("./completions.ts")).completionsCommand(commands),
  },
  { name: "version", summary: "Prints the version.", load: async () => versionCommand },
  { name: "help", summary: "Shows help for a command.", load: async () => helpCommand },
]

const unknownCommand = (name: string, terminal: Terminal): ExitCode => {
  const meant = nearest(
    name,
    commands.map((entry) => entry.name),
  )
  const what = name.startsWith("-") ? "option" : "command"
  const problem = `unknown ${what} ${quoted(name)}${meant === undefined ? "" : `; did you mean ${meant}?`}`
  terminal.standardError.write(`${new UsageError({ command: "reel", problem }).message}\n`)
  return exitCodes.usage
}

const versionCommand = command(
  {
    name: "reel version",
    summary: "Prints the version.",
    description: [
      "Also prints the version of Node, which a report of a bug needs. --version of any command prints that of kubereel alone.",
    ],
    options: {},
    examples: ["reel version"],
  },
  async (_, { standardOutput }) => {
    standardOutput.write(`kubereel ${readVersion()} (Node ${process.version})\n`)
    return exitCodes.ok
  },
)

/** What `reel help` explains besides commands. */
const exitCodesTopic = "exit-codes"

const helpCommand = command(
  {
    name: "reel help",
    summary: "Shows help for a command.",
    options: {},
    operand: {
      placeholder: "COMMAND",
      help: "the command; if omitted, all commands are listed. exit-codes: what the exit codes of all commands mean",
      choices: [...commands.map((entry) => entry.name), exitCodesTopic],
    },
    examples: ["reel help", "reel help export", "reel help exit-codes"],
    seeAlso: ["reel completions", "docs/reference/cli.md", "docs/reference/exit-codes.md"],
  },
  async (_, terminal, [name]) => {
    const columns = columnsOf(terminal.standardOutput)
    if (name === undefined) {
      terminal.standardOutput.write(renderOverview(commands, columns))
      return exitCodes.ok
    }
    if (name === exitCodesTopic) {
      terminal.standardOutput.write(renderExitCodes(columns))
      return exitCodes.ok
    }
    const entry = commandNamed(commands, name)
    if (entry === undefined) return unknownCommand(name, terminal)
    terminal.standardOutput.write(renderHelp((await entry.load()).syntax, columns))
    return exitCodes.ok
  },
)

/** Runs one command line (without the program's name). A defect is reported with its stack and exit code 1. */
export const reel = async (argv: readonly string[], terminal: Terminal): Promise<ExitCode> => {
  try {
    return await dispatch(argv, terminal)
  } catch (cause) {
    const trace = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
    // The message may quote what was read.
    const lines = trace.split("\n").map(visible).join("\n")
    terminal.standardError.write(`reel: this is a bug in kubereel ${readVersion()}, please report it:\n${lines}\n`)
    return exitCodes.failed
  }
}

const dispatch = async (argv: readonly string[], terminal: Terminal): Promise<ExitCode> => {
  const [name, ...rest] = argv
  if (name === undefined) {
    terminal.standardError.write(renderOverview(commands, columnsOf(terminal.standardError)))
    return exitCodes.usage
  }
  if (name === "--help" || name === "-h") return helpCommand.run([], terminal)
  if (name === "--version") return versionCommand.run([], terminal)
  const entry = commandNamed(commands, name)
  return entry === undefined ? unknownCommand(name, terminal) : (await entry.load()).run(rest, terminal)
}
