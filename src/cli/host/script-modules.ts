/**
 * Controllers in TypeScript and JavaScript as modules of a host: files whose default export is what `defineController` of `kubereel/host`
 * returns, several of them, or a function that gets the module's environment and returns them.
 *
 * They run on the host's main thread with the module's own credentials, and are trusted: a script can do what the host's process can.
 */
import { pathToFileURL } from "node:url"
import * as Schema from "effect/Schema"
import type { DefinedController } from "../../host/controller/define-controller.ts"
import { runControllers } from "../../host/controller/run-controllers.ts"
import type { RunningControllers } from "../../host/controller/running-controllers.ts"
import type { ModuleSource } from "../../host/modules/module-listing.ts"
import { isRecord } from "../../is-record.ts"
import type { EndpointSource } from "../../kube/endpoint.ts"
import { messageOf } from "../../message-of.ts"

/** The script cannot be run. */
export class ScriptRefused extends Schema.TaggedError<ScriptRefused>()("ScriptRefused", {
  path: Schema.String,
  problem: Schema.String,
}) {
  override get message(): string {
    return `${this.path} ${this.problem}`
  }
}

/** Starts its controllers. Rejects with {@link ScriptRefused}. */
export const startScript = async (
  { file, codePath, codeHash }: ModuleSource,
  server: EndpointSource,
  onTrouble: (detail: string) => void,
): Promise<RunningControllers> => {
  const refuse = (problem: string): ScriptRefused => new ScriptRefused({ path: codePath, problem })
  let exported: unknown
  try {
    // The hash makes Node load a replaced file anew; what the file itself imports is loaded once.
    const loaded: { readonly default?: unknown } = await import(`${pathToFileURL(codePath)}?${codeHash}`)
    const environment = Object.fromEntries(file.env.map(({ name, value }) => [name, value]))
    exported = typeof loaded.default === "function" ? await loaded.default(environment) : loaded.default
  } catch (cause) {
    throw refuse(`cannot be loaded: ${messageOf(cause)}`)
  }
  const controllers = Array.isArray(exported) ? exported : [exported]
  if (controllers.length === 0 || !controllers.every(isController))
    throw refuse("does not export by default what defineController of kubereel/host returns, nor a list of it")
  try {
    return await runControllers(controllers, { server, onTrouble })
  } catch (cause) {
    throw refuse(`cannot be run: ${messageOf(cause)}`)
  }
}

/** A copy of the library beside the script may have made it, so its class says nothing. */
const isController = (value: unknown): value is DefinedController =>
  isRecord(value) && typeof value.name === "string" && typeof value.reconcile === "function" && isRecord(value.for)
