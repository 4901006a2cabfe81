/**
 * The modules of a directory, brought to what the directory says: one change after the other, so that a module that is replaced twice is
 * never there twice.
 */
import type { RunningControllers } from "../../host/controller/running-controllers.ts"
import type { ModuleStatus } from "../../host/dispatcher/dispatcher.ts"
import type { ModuleHost } from "../../host/dispatcher/module-host.ts"
import type { ModuleChanges } from "../../host/modules/module-directory.ts"
import type { ModuleFile } from "../../host/modules/module-file.ts"
import type { ModuleSource } from "../../host/modules/module-listing.ts"
import { describeRefusal } from "../../host/modules/module-problem.ts"
import type { EndpointSource } from "../../kube/endpoint.ts"
import { messageOf } from "../../message-of.ts"
import { startScript } from "./script-modules.ts"

export interface HostModulesOptions {
  readonly host: ModuleHost
  readonly identityOf: (file: ModuleFile) => EndpointSource
  /** Gets what an operator should see, a line each. */
  readonly say: (line: string) => void
}

export class HostModules implements AsyncDisposable {
  readonly #options: HostModulesOptions
  readonly #scripts = new Map<string, RunningControllers>()
  /** Modules that could not be started, and why. */
  readonly #failed = new Map<string, string>()
  #refusals: ReadonlySet<string> = new Set()
  #last: Promise<void> = Promise.resolve()

  constructor(options: HostModulesOptions) {
    this.#options = options
  }

  /** Why files of the directory are not run: those that are no modules, and modules that could not be started. */
  get refusals(): ReadonlyArray<string> {
    return [...this.#refusals, ...this.#failed.values()]
  }

  /** Resolves when the changes are made. */
  apply(changes: ModuleChanges): Promise<void> {
    this.#last = this.#last.then(() => this.#apply(changes))
    return this.#last
  }

  async scriptStatistics() {
    return [...this.#scripts.values()].flatMap((script) => script.statistics())
  }

  statistics(): Promise<ReadonlyArray<ModuleStatus>> {
    return this.#options.host.statistics()
  }

  /** Ends all scripts. */
  async close(): Promise<void> {
    await this.#last
    await Promise.all([...this.#scripts.values()].map((script) => script.close()))
    this.#scripts.clear()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #apply({ added, replaced, removed, refusals }: ModuleChanges): Promise<void> {
    const { say } = this.#options
    const texts = new Set(refusals.map(({ path, refusal }) => describeRefusal(path, refusal)))
    for (const text of texts) if (!this.#refusals.has(text)) say(text)
    this.#refusals = texts
    for (const { file } of removed) await this.#end(file.name, "removed")
    for (const { before, after } of replaced) {
      await this.#end(before.file.name, "replaced")
      await this.#start(after)
    }
    // A host with many modules is up as soon as the slowest of them.
    await Promise.all(added.map((module) => this.#start(module)))
  }

  async #start(module: ModuleSource): Promise<void> {
    const { host, identityOf, say } = this.#options
    const { file, codePath, form } = module
    try {
      if (form === "wasm") await host.add({ file, codePath })
      else
        this.#scripts.set(
          file.name,
          await startScript(module, identityOf(file), (detail) => say(`${file.name}: ${detail}`)),
        )
      say(`module ${file.name} started`)
    } catch (cause) {
      const reason = `module ${file.name} is not run: ${messageOf(cause)}`
      this.#failed.set(file.name, reason)
      say(reason)
    }
  }

  async #end(name: string, why: string): Promise<void> {
    this.#failed.delete(name)
    const script = this.#scripts.get(name)
    this.#scripts.delete(name)
    await script?.close()
    await this.#options.host.remove(name)
    this.#options.say(`module ${name} ${why}`)
  }
}
