/** The cluster that the commands for Simulations work on. */
import { AlreadyExistsError, ApiClient, loadCredentials, NotFoundError } from "../../kube/index.ts"
import { CommandFailed, type ExitCode, exitCodes } from "../command-line/exit-codes.ts"
import { describeRefused, isRefusedError } from "../command-line/refused-credentials.ts"
import { readVersion } from "../command-line/version.ts"

/** Which cluster. */
interface ClusterChoice {
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
}

/** Runs with a client of the cluster. Rejects with CommandFailed where the message of an API error would not say what to do. */
export const inCluster = async (
  { kubeconfig, context }: ClusterChoice,
  run: (client: ApiClient) => Promise<ExitCode>,
): Promise<ExitCode> => {
  const server = await loadCredentials({ kubeconfig, context })
  const endpoint = await server.endpoint()
  const client = new ApiClient({ server, userAgent: `kubereel/${readVersion()}` })
  try {
    return await run(client)
  } catch (error) {
    if (isRefusedError(error)) throw new CommandFailed(describeRefused(error.detail, endpoint), exitCodes.notPermitted)
    if (error instanceof AlreadyExistsError)
      throw new CommandFailed(
        `the Simulation ${error.name} exists already; choose another name, or delete it with reel delete ${error.name}`,
      )
    if (error instanceof NotFoundError) throw new CommandFailed(describeMissing(error))
    throw error
  } finally {
    client.close()
  }
}

const describeMissing = ({ verb, name }: NotFoundError): string =>
  verb === "create" || verb === "list" || name === ""
    ? "the cluster has no Simulations; install their definitions with: reel crd | kubectl apply --server-side -f -"
    : `there is no Simulation ${name}; reel status lists those that there are`
