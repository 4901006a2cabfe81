/** Controllers in TypeScript and JavaScript as modules of a host. They run on the host's main thread with the module's own credentials. */
import { type RunningControllers, runControllers } from "../../host/controller/run-controllers.ts"
import { StateDirectoryMissing } from "../../host/dispatcher/module-host.ts"
import type { ModuleSource } from "../../host/modules/module-listing.ts"
import { provideScriptLibrary } from "../../host/scripts/script-library.ts"
import { loadScript, ScriptRefused } from "../../host/scripts/thread/load-script.ts"
import type { EndpointSource } from "../../kube/endpoint.ts"
import { messageOf } from "../../message-of.ts"

/** How a script is connected, and what it is given beside its own environment. */
export interface ScriptOptions {
  readonly server: EndpointSource
  /** For controllers with a checkpoint. `undefined`: they are refused. */
  readonly stateDirectory: string | undefined
  readonly onTrouble: (detail: string) => void
}

/** Starts its controllers. `checkpoint: true` of its YAML holds for all of them. Rejects with {@link ScriptRefused}. */
export const startScript = async (
  { file, codePath, codeHash }: ModuleSource,
  { server, stateDirectory, onTrouble }: ScriptOptions,
): Promise<RunningControllers> => {
  provideScriptLibrary()
  const controllers = await loadScript({ codePath, codeHash, env: file.env })
  try {
    const keeping = file.checkpoint === true ? controllers.map((one) => ({ ...one, checkpoint: true })) : controllers
    if (stateDirectory === undefined && keeping.some(({ checkpoint }) => checkpoint === true))
      throw new StateDirectoryMissing({ module: file.name })
    const checkpoint = stateDirectory === undefined ? undefined : { directory: stateDirectory }
    return await runControllers(keeping, { server, onTrouble, checkpoint })
  } catch (cause) {
    throw new ScriptRefused({ path: codePath, problem: `cannot be run: ${messageOf(cause)}` })
  }
}
