/** A file becomes controllers: its default export is what `defineController` of `kubereel/host` returns, several of them, or a function that returns them. */
import { realpath } from "node:fs/promises"
import { pathToFileURL } from "node:url"
import * as Schema from "effect/Schema"
import { isRecord } from "../../../is-record.ts"
import { messageOf } from "../../../message-of.ts"
import type { DefinedController } from "../../controller/define-controller.ts"

/** The script cannot be run. */
export class ScriptRefused extends Schema.TaggedError<ScriptRefused>()("ScriptRefused", {
  path: Schema.String,
  problem: Schema.String,
}) {
  override get message(): string {
    return `${this.path} ${this.problem}`
  }
}

/** A script, and what it is given. */
export interface ScriptFile {
  readonly codePath: string
  /** Of its content. */
  readonly codeHash: string
  readonly env: ReadonlyArray<{ readonly name: string; readonly value: string }>
}

/** At least one controller. Runs the script in this thread, with all that it may do. Rejects with {@link ScriptRefused}. */
export const loadScript = async ({
  codePath,
  codeHash,
  env,
}: ScriptFile): Promise<ReadonlyArray<DefinedController>> => {
  const refuse = (problem: string): ScriptRefused => new ScriptRefused({ path: codePath, problem })
  let exported: unknown
  try {
    // Node remembers for ever where a link leads. Those of a mounted ConfigMap lead to another directory after each change.
    const url = pathToFileURL(await realpath(codePath))
    // The hash makes Node load a replaced file anew; what the file itself imports is loaded once.
    const loaded: { readonly default?: unknown } = await import(`${url}?${codeHash}`)
    const environment = Object.fromEntries(env.map(({ name, value }) => [name, value]))
    exported = typeof loaded.default === "function" ? await loaded.default(environment) : loaded.default
  } catch (cause) {
    throw refuse(`cannot be loaded: ${messageOf(cause)}`)
  }
  const controllers = Array.isArray(exported) ? exported : [exported]
  if (controllers.length === 0 || !controllers.every(isController))
    throw refuse("does not export by default what defineController of kubereel/host returns, nor a list of it")
  return controllers
}

/** A copy of the library beside the script may have made it, so its class says nothing. */
const isController = (value: unknown): value is DefinedController =>
  isRecord(value) && typeof value.name === "string" && typeof value.reconcile === "function" && isRecord(value.for)
