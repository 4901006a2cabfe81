/** The cluster that the commands for Simulations work on, and its refusals as lines for people. */
import { ApiClient } from "../../kube/client/api-client.ts"
import { AlreadyExistsError, ForbiddenError, NotFoundError } from "../../kube/client/api-errors.ts"
import { loadCredentials } from "../../kube/credentials/credentials.ts"
import { isCredentialsError } from "../../kube/credentials/errors.ts"
import type { ApiEndpoint } from "../../kube/endpoint.ts"
import { withConnectionAdvice } from "../../recorder/status/trouble-advice.ts"
import { visible } from "../../text/index.ts"
import { type ExitCode, exitCodes } from "../command-line/exit-codes.ts"
import { describeRefused, isRefusedError } from "../command-line/refused-credentials.ts"
import { readVersion } from "../command-line/version.ts"
import type { Terminal } from "../terminal/terminal.ts"

/** Which cluster. */
interface ClusterChoice {
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
}

/** What a person can do something about; its message says what. */
export class SimulationProblem extends Error {}

/** Runs with a client of the cluster. What a person can change becomes a line on standard error and an exit code; rejects only for defects. */
export const inCluster = async (
  command: string,
  choice: ClusterChoice,
  terminal: Terminal,
  run: (client: ApiClient) => Promise<ExitCode>,
): Promise<ExitCode> => {
  let endpoint: ApiEndpoint | undefined
  const work = async (): Promise<ExitCode> => {
    const server = await loadCredentials({ kubeconfig: choice.kubeconfig, context: choice.context })
    endpoint = await server.endpoint()
    const client = new ApiClient({ server, userAgent: `kubereel/${readVersion()}` })
    try {
      return await run(client)
    } finally {
      client.close()
    }
  }
  return reporting(command, terminal, work, () => endpoint)
}

/** As {@link inCluster}, for what needs no client of it. */
export const reporting = async (
  command: string,
  { standardError }: Terminal,
  run: () => Promise<ExitCode>,
  endpoint: () => ApiEndpoint | undefined = () => undefined,
): Promise<ExitCode> => {
  try {
    return await run()
  } catch (error) {
    if (!isKnown(error)) throw error
    const isRefused = isRefusedError(error)
    const message = isRefused ? describeRefused(error.detail, endpoint()) : withConnectionAdvice(describe(error))
    standardError.write(`${command}: ${visible(message)}\n`)
    return isRefused || error instanceof ForbiddenError ? exitCodes.notPermitted : exitCodes.failed
  }
}

/** Every error of the API client has the question that it is about. */
const isKnown = (error: unknown): error is Error =>
  error instanceof SimulationProblem ||
  isCredentialsError(error) ||
  (error instanceof Error && "_tag" in error && "verb" in error && "kind" in error)

const describe = (error: Error): string => {
  if (error instanceof AlreadyExistsError)
    return `the Simulation ${error.name} exists already; choose another name, or delete it with reel delete ${error.name}`
  if (!(error instanceof NotFoundError)) return error.message
  return error.verb === "create" || error.verb === "list" || error.name === ""
    ? "the cluster has no Simulations; install their definitions with: reel crd | kubectl apply --server-side -f -"
    : `there is no Simulation ${error.name}; reel status lists those that there are`
}
