/** Controllers in TypeScript and JavaScript as modules of a host. They run on the host's main thread with the module's own credentials. */
import { type RunningControllers, runControllers } from "../../host/controller/run-controllers.ts"
import type { ModuleSource } from "../../host/modules/module-listing.ts"
import { provideScriptLibrary } from "../../host/scripts/script-library.ts"
import { loadScript, ScriptRefused } from "../../host/scripts/thread/load-script.ts"
import type { EndpointSource } from "../../kube/endpoint.ts"
import { messageOf } from "../../message-of.ts"

/** Starts its controllers. Rejects with {@link ScriptRefused}. */
export const startScript = async (
  { file, codePath, codeHash }: ModuleSource,
  server: EndpointSource,
  onTrouble: (detail: string) => void,
): Promise<RunningControllers> => {
  provideScriptLibrary()
  const controllers = await loadScript({ codePath, codeHash, env: file.env })
  try {
    return await runControllers(controllers, { server, onTrouble })
  } catch (cause) {
    throw new ScriptRefused({ path: codePath, problem: `cannot be run: ${messageOf(cause)}` })
  }
}
