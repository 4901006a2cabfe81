/**
 * The modules of a directory, brought to what the directory says: one change after the other, so that a module that is replaced twice is
 * never there twice.
 *
 * A module without credentials is started again until it has them: a pod may be up before the ServiceAccount, the roles, or the network.
 */
import type { Clock, Timer } from "../../clock.ts"
import type { ModuleHost } from "../../host/dispatcher/module-host.ts"
import { TokenRefused } from "../../host/identity/token-request.ts"
import type { ModuleChanges } from "../../host/modules/module-directory.ts"
import type { ModuleSource } from "../../host/modules/module-listing.ts"
import { describeRefusal } from "../../host/modules/module-problem.ts"
import { isCredentialsError } from "../../kube/credentials/errors.ts"
import { messageOf } from "../../message-of.ts"

export interface HostModulesOptions {
  readonly host: ModuleHost
  readonly clock: Pick<Clock, "after">
  /** Gets what an operator should see, a line each. */
  readonly say: (line: string) => void
}

/** ms between two starts of a module without credentials. How often the API server is asked for a token is the token source's matter. */
const startAgainMs = 1000

export class HostModules implements AsyncDisposable {
  readonly #options: HostModulesOptions
  /** Modules that could not be started, and why. */
  readonly #failed = new Map<string, string>()
  /** The next starts of those without credentials. */
  readonly #startingAgain = new Map<string, Timer>()
  #refusals: ReadonlySet<string> = new Set()
  #isLoaded = false
  #last: Promise<void> = Promise.resolve()

  constructor(options: HostModulesOptions) {
    this.#options = options
  }

  /** How many files of the directory are not run: those that are no modules, and modules that could not be started or loaded. */
  get refused(): number {
    return this.#refusals.size + this.#failed.size + this.#options.host.refused.length
  }

  /** Whether every module that was there first has been started or refused. */
  get isLoaded(): boolean {
    return this.#isLoaded
  }

  /** Resolves when the changes are made. */
  apply(changes: ModuleChanges): Promise<void> {
    this.#last = this.#last.then(() => this.#apply(changes))
    return this.#last
  }

  /** Resolves when the changes under way are made. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#last
    for (const timer of this.#startingAgain.values()) timer.cancel()
    this.#startingAgain.clear()
  }

  async #apply({ added, replaced, removed, refusals }: ModuleChanges): Promise<void> {
    const { say } = this.#options
    const texts = new Set(refusals.map(({ path, refusal }) => describeRefusal(path, refusal)))
    for (const text of texts) if (!this.#refusals.has(text)) for (const line of text.split("\n")) say(line)
    this.#refusals = texts
    for (const { file } of removed) await this.#end(file.name, "removed")
    for (const { before, after } of replaced) {
      await this.#end(before.file.name, "replaced")
      await this.#start(after)
    }
    // A host with many modules is up as soon as the slowest of them.
    await Promise.all(added.map((module) => this.#start(module)))
    this.#isLoaded = true
  }

  async #start(module: ModuleSource): Promise<void> {
    const { host, say } = this.#options
    const { file, codePath, form } = module
    try {
      if (form === "wasm") await host.add({ file, codePath })
      else await host.scripts.add(module)
      this.#failed.delete(file.name)
      // One that is refused has been told already.
      if (form !== "wasm" || (await host.loaded(file.name))) say(`module ${file.name} started`)
    } catch (cause) {
      const reason = `module ${file.name} is not run: ${messageOf(cause)}`
      if (this.#failed.get(file.name) !== reason) say(reason)
      this.#failed.set(file.name, reason)
      if (cause instanceof TokenRefused || isCredentialsError(cause)) this.#startLater(module)
    }
  }

  #startLater(module: ModuleSource): void {
    const { name } = module.file
    const timer = this.#options.clock.after(startAgainMs, () => {
      this.#last = this.#last.then(async () => {
        // Meanwhile it may have been removed or replaced.
        if (this.#startingAgain.get(name) !== timer) return
        this.#startingAgain.delete(name)
        await this.#start(module)
      })
    })
    this.#startingAgain.set(name, timer)
  }

  async #end(name: string, why: string): Promise<void> {
    this.#failed.delete(name)
    this.#startingAgain.get(name)?.cancel()
    this.#startingAgain.delete(name)
    const { host, say } = this.#options
    await host.scripts.remove(name)
    await host.remove(name)
    say(`module ${name} ${why}`)
  }
}
