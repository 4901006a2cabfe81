/** `reel sandbox`: arguments and printing. The cluster is in src/sandbox. */
import { setTimeout as sleep } from "node:timers/promises"
import { systemClock } from "../clock.ts"
import { cleanUpDemo, LocalCluster, playDemo, sandboxContext, writeKubeconfig } from "../sandbox/index.ts"
import { visible } from "../text/index.ts"
import { OutputFailed } from "../trace/index.ts"
import {
  type CommandSyntax,
  flag,
  integerBetween,
  type OptionValues,
  oneOf,
  optional,
  withDefault,
} from "./command-line/arguments.ts"
import { type Command, type CommandTerminal, command } from "./command-line/command.ts"
import { CommandFailed, type ExitCode, exitCodes } from "./command-line/exit-codes.ts"
import { certificateOfRun, mayReplace } from "./command-line/kubeconfig-of-run.ts"
import { listenOption } from "./command-line/listen-option.ts"
import { interruption, type Terminal } from "./terminal/terminal.ts"

const options = {
  listen: listenOption(8001, "where the API server listens, a loopback address"),
  nodes: withDefault(
    "3",
    "-n NUMBER",
    "virtual nodes; pods are simulated: containers never run",
    integerBetween(0, 10_000),
  ),
  kubeconfig: withDefault(
    "sandbox.kubeconfig",
    "FILE",
    "where to write a kubeconfig for the sandbox; one of an earlier sandbox is overwritten",
  ),
  authorization: optional(
    "MODE",
    "rbac: authenticate and authorize requests as a real API server does, over HTTPS; the kubeconfig is that of an administrator",
    oneOf("rbac"),
  ),
  workload: optional(
    "NAME",
    "demo: a shop that opens, scales, rolls out, breaks, recovers and closes, in a loop",
    oneOf("demo"),
  ),
  force: flag({ short: "f", help: "overwrite FILE even if it is not a sandbox kubeconfig" }),
}

const syntax: CommandSyntax<typeof options> = {
  name: "reel sandbox",
  summary: "Runs an in-memory Kubernetes API server with controllers and virtual nodes until Ctrl-C.",
  description: [
    "kubectl, controllers and recorders can use it like a real cluster, but containers never run and nothing is kept after it stops.",
    "docs/guides/sandbox.md lists what behaves as in Kubernetes and what does not.",
  ],
  options,
  exitCodes: { ok: "stopped by Ctrl-C or SIGTERM", failed: "the port is in use, or the file cannot be written" },
  examples: [
    "reel sandbox --workload demo",
    "KUBECONFIG=sandbox.kubeconfig kubectl get pods -A -w",
    "reel sandbox --authorization rbac",
    "reel record --config tracer.yml --kubeconfig sandbox.kubeconfig",
  ],
  seeAlso: ["reel serve", "reel record", "docs/guides/sandbox.md"],
}

type Options = OptionValues<typeof options>

export const sandboxCommand = (): Command => command(syntax, run)

/** ms between two rounds of the demo. */
const demoPauseMs = 5000

const run = async (given: Options, terminal: CommandTerminal): Promise<ExitCode | string> => {
  const { standardOutput, say } = terminal
  const { host, port } = given.listen
  if (host !== "127.0.0.1") return "a sandbox listens on 127.0.0.1 only: write --listen PORT"
  if (!given.force && !(await mayReplace(given.kubeconfig, `"current-context": "${sandboxContext}"`)))
    return `${visible(given.kubeconfig)} exists and is not a sandbox kubeconfig; name another file with --kubeconfig, or overwrite it with --force`
  using stop = interruption(terminal, true)
  try {
    const own = given.authorization === undefined ? undefined : certificateOfRun(host)
    await using cluster = await LocalCluster.start({
      port,
      nodes: given.nodes,
      // The ledger is for comparisons in tests; here it would grow without limit.
      ledger: "none",
      ...(given.authorization !== undefined && { authorization: given.authorization }),
      ...(own !== undefined && { tls: { key: own.key, cert: own.certificate, ca: own.authority } }),
      onTrouble: say,
    })
    const { url, token } = cluster.sandbox
    await writeKubeconfig(given.kubeconfig, url, token, own?.authority)
    standardOutput.write(
      `API server   ${url} (Kubernetes 1.34, in memory)\nnodes        ${given.nodes}\nkubeconfig   ${given.kubeconfig}\n\n` +
        `  kubectl --kubeconfig ${given.kubeconfig} get pods -A\n\nPress Ctrl-C to stop it; everything in it is then lost.\n`,
    )
    if (given.workload === "demo") await repeatDemo(cluster, stop.signal, terminal)
    else await stop.happened
    return exitCodes.ok
  } catch (error) {
    throw new CommandFailed(describe(error, { port, kubeconfig: given.kubeconfig }))
  }
}

const repeatDemo = async (cluster: LocalCluster, signal: AbortSignal, { standardOutput }: Terminal): Promise<void> => {
  const { client } = cluster
  while (!signal.aborted) {
    standardOutput.write("\n")
    await playDemo({
      client,
      clock: systemClock,
      signal,
      announce: ({ at, title }) => standardOutput.write(`${(at / 1000).toFixed(1).padStart(5)} s  ${title}\n`),
    })
    if (signal.aborted) return
    await cleanUpDemo(client)
    await sleep(demoPauseMs, undefined, { signal }).catch(() => undefined)
  }
}

const describe = (
  error: unknown,
  { port, kubeconfig }: { readonly port: number; readonly kubeconfig: string },
): string => {
  const { code, message, path } = error as NodeJS.ErrnoException
  if (code === "EADDRINUSE") return `port ${port} is in use; choose another with --listen, or use 0 for any free port`
  if (code !== undefined && path === kubeconfig) return visible(new OutputFailed({ path, code }).message)
  return visible(message)
}
