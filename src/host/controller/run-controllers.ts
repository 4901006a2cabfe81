/** Runs controllers in this process until it is told to end; finds the cluster as kubectl does. */

import { type Credentials, loadCredentials } from "../../kube/credentials/credentials.ts"
import type { DefinedController } from "./define-controller.ts"
import { checkTogether, type RunningControllers, type RunOptions, startControllers } from "./running-controllers.ts"

/**
 * Resolves once the controllers are under way, before they have started. Rejects with a `CredentialsError` if there is no usable kubeconfig, and with
 * {@link InvalidControllerError} for controllers that cannot run together. A server that cannot be reached is waited for without a limit.
 */
export const runControllers = async (
  controllers: ReadonlyArray<DefinedController>,
  options: RunOptions = {},
): Promise<RunningControllers> => {
  checkTogether(controllers, options)
  if (options.server !== undefined)
    return startControllers(controllers, options, options.server, { defaultNamespace: "default" })
  const credentials: Credentials = await loadCredentials({ kubeconfig: options.kubeconfig, context: options.context })
  return startControllers(controllers, options, credentials, { defaultNamespace: credentials.defaultNamespace })
}
