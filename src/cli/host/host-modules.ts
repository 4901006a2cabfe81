/**
 * The modules of a directory, brought to what the directory says: one change after the other, so that a module that is replaced twice is
 * never there twice.
 */
import type { ModuleHost } from "../../host/dispatcher/module-host.ts"
import type { ModuleChanges } from "../../host/modules/module-directory.ts"
import type { ModuleSource } from "../../host/modules/module-listing.ts"
import { describeRefusal } from "../../host/modules/module-problem.ts"
import { messageOf } from "../../message-of.ts"

export interface HostModulesOptions {
  readonly host: ModuleHost
  /** Gets what an operator should see, a line each. */
  readonly say: (line: string) => void
}

export class HostModules implements AsyncDisposable {
  readonly #options: HostModulesOptions
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

  /** Resolves when the changes under way are made. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#last
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
    const { host, say } = this.#options
    const { file, codePath, form } = module
    try {
      if (form === "wasm") await host.add({ file, codePath })
      else await host.scripts.add(module)
      say(`module ${file.name} started`)
    } catch (cause) {
      const reason = `module ${file.name} is not run: ${messageOf(cause)}`
      this.#failed.set(file.name, reason)
      say(reason)
    }
  }

  async #end(name: string, why: string): Promise<void> {
    this.#failed.delete(name)
    const { host, say } = this.#options
    await host.scripts.remove(name)
    await host.remove(name)
    say(`module ${name} ${why}`)
  }
}
