/**
 * Applies changes of the directory to the host. Changes of one module run one after the other; modules do not wait for
 * each other. Exception: added modules wait for the removals of the same change, which may be renames.
 *
 * A module without credentials is started again until it has them: a pod may be up before the ServiceAccount, the roles, or the network.
 */

import type { Clock, Timer } from "../../clock.ts"
import {
  type AdmissionServer,
  describeRefusal,
  type ModuleChanges,
  type ModuleHost,
  type ModuleSource,
  TokenRefused,
} from "../../host/index.ts"
import { isCredentialsError } from "../../kube/index.ts"
import { messageOf } from "../../message-of.ts"

interface HostModulesOptions {
  readonly host: Pick<ModuleHost, "add" | "loaded" | "remove" | "refused"> & {
    readonly scripts: Pick<ModuleHost["scripts"], "add" | "remove">
  }
  readonly clock: Pick<Clock, "after">
  /** Those of a module that is removed are removed; those of one that cannot be run, or is replaced, stay. */
  readonly webhooks?: Pick<AdmissionServer, "set"> | undefined
  /** Gets what an operator should see, a line each. */
  readonly say: (line: string) => void
  /** As `say`, what does not run. */
  readonly warn: (line: string) => void
}

/** ms between two starts of a module without credentials. How often the API server is asked for a token is the token source's matter. */
const startAgainMs = 1000

export class HostModules implements Disposable {
  readonly #options: HostModulesOptions
  /** Modules that could not be started, and why. */
  readonly #failed = new Map<string, string>()
  /** The next starts of those without credentials. */
  readonly #startingAgain = new Map<string, Timer>()
  #refusals: ReadonlySet<string> = new Set()
  #isLoaded = false
  #isClosed = false
  /** What is being done with the module of a name, one after the other. */
  readonly #turns = new Map<string, Promise<void>>()

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
  async apply({ added, replaced, removed, refusals }: ModuleChanges): Promise<void> {
    const { warn } = this.#options
    const texts = new Set(refusals.map(({ path, refusal }) => describeRefusal(path, refusal)))
    for (const text of texts) if (!this.#refusals.has(text)) for (const line of text.split("\n")) warn(line)
    this.#refusals = texts
    const removals = removed.map(({ file }) => this.#inTurn(file.name, () => this.#end(file.name, "removed")))
    const replacements = replaced.map(({ before, after }) =>
      this.#inTurn(after.file.name, async () => {
        await this.#end(before.file.name, "replaced")
        await this.#start(after)
      }),
    )
    const ended = Promise.all(removals)
    const additions = added.map((module) =>
      this.#inTurn(module.file.name, async () => {
        await ended
        await this.#start(module)
      }),
    )
    await Promise.all([ended, ...replacements, ...additions])
    this.#isLoaded = true
  }

  /** Nothing is started any more. Close the host next, which ends what is being started, or it could take its time. */
  [Symbol.dispose](): void {
    this.#isClosed = true
    for (const timer of this.#startingAgain.values()) timer.cancel()
    this.#startingAgain.clear()
  }

  async #inTurn(name: string, work: () => Promise<void>): Promise<void> {
    const before = this.#turns.get(name) ?? Promise.resolve()
    const turn = before.then(work, work)
    this.#turns.set(name, turn)
    try {
      await turn
    } finally {
      if (this.#turns.get(name) === turn) this.#turns.delete(name)
    }
  }

  async #start(module: ModuleSource): Promise<void> {
    const { host, say, warn } = this.#options
    const { file, codePath, form } = module
    if (this.#isClosed) return
    try {
      if (form === "wasm") await host.add({ file, codePath })
      else await host.scripts.add(module)
      this.#failed.delete(file.name)
      // The host has already reported a module that it refuses.
      const isRunning = form !== "wasm" || (await host.loaded(file.name))
      if (isRunning && !this.#isClosed) say(`module ${file.name} started`)
    } catch (cause) {
      // The host has ended it.
      if (this.#isClosed) return
      const reason = `module ${file.name} is not run: ${messageOf(cause)}`
      if (this.#failed.get(file.name) !== reason) warn(reason)
      this.#failed.set(file.name, reason)
      if (cause instanceof TokenRefused || isCredentialsError(cause)) this.#startLater(module)
    }
  }

  #startLater(module: ModuleSource): void {
    const { name } = module.file
    const timer = this.#options.clock.after(startAgainMs, () => {
      void this.#inTurn(name, async () => {
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
    const { host, say, warn, webhooks } = this.#options
    // First: the last runs may take half a minute, in which a failure policy would refuse writes for a module that is to be gone.
    if (why === "removed") webhooks?.set(name, [])
    try {
      await host.scripts.remove(name)
      await host.remove(name)
      say(`module ${name} ${why}`)
    } catch (cause) {
      warn(`module ${name} could not be ended: ${messageOf(cause)}`)
    }
  }
}
