/** A file becomes controllers: its default export is what `defineController` of `kubereel/host` returns, several of them, or a function that returns them. */
import { realpath } from "node:fs/promises"
import { dirname, relative } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import * as Schema from "effect/Schema"
import { isRecord } from "../../../is-record.ts"
import { messageOf } from "../../../message-of.ts"
import type { DefinedController } from "../../controller/define-controller.ts"
import { marked, withoutMarks } from "./script-marks.ts"

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
interface ScriptFile {
  readonly module: string
  readonly codePath: string
  /** Of its content and of what it imports relatively. */
  readonly codeHash: string
  readonly env: ReadonlyArray<{ readonly name: string; readonly value: string }>
}

/** At least one controller. Runs the script in this thread, with all that it may do. Rejects with {@link ScriptRefused}. */
export const loadScript = async ({
  module,
  codePath,
  codeHash,
  env,
}: ScriptFile): Promise<ReadonlyArray<DefinedController>> => {
  const refuse = (problem: string): ScriptRefused => new ScriptRefused({ path: codePath, problem })
  let exported: unknown
  let directory = dirname(codePath)
  try {
    // Node remembers for ever where a link leads. Those of a mounted ConfigMap lead to another directory after each change.
    const realPath = await realpath(codePath)
    directory = dirname(realPath)
    const url = pathToFileURL(realPath)
    // The hash makes Node load it anew when it is replaced.
    const loaded: { readonly default?: unknown } = await import(marked(`${url}`, module, codeHash))
    const environment = Object.fromEntries(env.map(({ name, value }) => [name, value]))
    exported = typeof loaded.default === "function" ? await loaded.default(environment) : loaded.default
  } catch (cause) {
    const position = positionIn(directory, cause)
    throw refuse(`cannot be loaded: ${withoutMarks(messageOf(cause))}${position === undefined ? "" : ` (${position})`}`)
  }
  const controllers = Array.isArray(exported) ? exported : [exported]
  if (controllers.length === 0 || !controllers.every(isController))
    throw refuse("does not export by default what defineController of kubereel/host returns, nor a list of it")
  return controllers
}

/**
 * `line 4 of shared/pods.ts`: where in the directory the error arose. Node has it in the stack only, before the message if the syntax is wrong;
 * it has none for wrong syntax in JavaScript.
 */
const positionIn = (directory: string, cause: unknown): string | undefined => {
  const stack = cause instanceof Error ? (cause.stack ?? "") : ""
  for (const [, url = "", line] of stack.matchAll(/((?:file:\/\/)?\/[^\s?()]+)(?:\?[^\s:]*)?:(\d+)(?::\d+)?\)?$/gm)) {
    const path = relative(directory, url.startsWith("file:") ? fileURLToPath(url) : url)
    if (!path.startsWith("..")) return `line ${line} of ${path}`
  }
  return undefined
}

/** A copy of the library beside the script may have made it, so its class says nothing. */
const isController = (value: unknown): value is DefinedController =>
  isRecord(value) &&
  typeof value.name === "string" &&
  isRecord(value.for) &&
  [value.reconcile, value.validate, value.mutate, value.convert].some((each) => typeof each === "function")
