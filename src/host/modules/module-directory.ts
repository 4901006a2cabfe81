/**
 * Follows a directory of modules: reports which were added, replaced and removed, and which are refused and why.
 *
 * Guaranteed: a change is reported once, after the directory was read twice with the same content, 200 ms apart, because a file that is still being
 * copied may be valid by chance. A module that becomes invalid keeps running as it was; it is removed when its YAML or its code is gone. Of several files
 * with one name, the module that is there already keeps it. Watching can fail silently, so the directory is also looked at every 5 s.
 */
import * as Result from "effect/Result"
import type { Clock, Timer } from "../../clock.ts"
import { type DirectoryIo, fileSystem } from "./directory-io.ts"
import {
  listModules,
  type ModuleListing,
  type ModuleSource,
  type ReadCache,
  type RefusedModule,
} from "./module-listing.ts"

/** What has changed since the last report. */
export interface ModuleChanges {
  readonly added: ReadonlyArray<ModuleSource>
  /** Another content under the same name, also if only the YAML differs; or the same in other files, because code is read again at each start. */
  readonly replaced: ReadonlyArray<{ readonly before: ModuleSource; readonly after: ModuleSource }>
  readonly removed: ReadonlyArray<ModuleSource>
  /** All present refusals; those that were reported before too. */
  readonly refusals: ReadonlyArray<RefusedModule>
}

interface ModuleDirectoryOptions {
  readonly directory: string
  readonly clock: Pick<Clock, "after">
  /** Called for each change, also if only refusals have changed. What it throws ends the process, as in any timer. */
  readonly changed: (changes: ModuleChanges) => void
  /** Default: the file system. */
  readonly io?: DirectoryIo
  /** ms between two looks without an event. Default 5,000. */
  readonly pollMs?: number
  /** ms without a further event before the directory is read, and between the two readings. Default 200. */
  readonly settleMs?: number
}

export class ModuleDirectory implements Disposable {
  readonly #options: ModuleDirectoryOptions
  readonly #io: DirectoryIo
  readonly #cache: ReadCache = new Map()
  #present: ReadonlyMap<string, ModuleSource> = new Map()
  #refusals: ReadonlyArray<RefusedModule> = []
  /** The listing last reported, and the one that is reported if it is read again, as texts. */
  #reported = ""
  #candidate: string | undefined
  #poll: Timer | undefined
  #settling: Timer | undefined
  #stopWatching: (() => void) | undefined
  #last: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(options: ModuleDirectoryOptions) {
    this.#options = options
    this.#io = options.io ?? fileSystem
  }

  /** The modules that were reported, by name. */
  get modules(): ReadonlyMap<string, ModuleSource> {
    return this.#present
  }

  get refusals(): ReadonlyArray<RefusedModule> {
    return this.#refusals
  }

  /** Reads the directory, reports what is there, and follows it from then on. Close it, or its timers keep the process alive. */
  async start(): Promise<void> {
    this.#watch()
    await this.check()
    this.#schedulePoll()
  }

  /** Reads the directory now and reports changes without a second reading (SIGHUP). Never rejects. */
  check(): Promise<void> {
    return this.#inTurn(async () => this.#take(await this.#read()))
  }

  close(): void {
    this.#isClosed = true
    this.#poll?.cancel()
    this.#settling?.cancel()
    this.#stopWatching?.()
    this.#stopWatching = undefined
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #watch(): void {
    if (this.#stopWatching !== undefined) return
    const stop = (): void => {
      this.#stopWatching?.()
      this.#stopWatching = undefined
    }
    try {
      this.#stopWatching = this.#io.watch(this.#options.directory, () => this.#settle(), stop)
    } catch {
      // The directory is gone or cannot be watched: it is looked at regularly, and each look tries again to watch it.
      this.#stopWatching = undefined
    }
  }

  #settle(): void {
    if (this.#isClosed) return
    this.#settling?.cancel()
    this.#settling = this.#options.clock.after(this.#options.settleMs ?? 200, () => void this.#look())
  }

  #schedulePoll(): void {
    if (this.#isClosed) return
    this.#poll = this.#options.clock.after(this.#options.pollMs ?? 5000, () => {
      this.#watch()
      void this.#look().then(() => this.#schedulePoll())
    })
  }

  /** Reports a change if the same one was read before, else reads again a little later. */
  #look(): Promise<void> {
    return this.#inTurn(async () => {
      const listing = await this.#read()
      const text = textOf(listing)
      const isSettled = text === this.#candidate
      this.#candidate = text
      if (text === this.#reported || this.#isClosed) return
      if (isSettled) this.#take(listing)
      else this.#settle()
    })
  }

  async #read(): Promise<ModuleListing> {
    const { directory } = this.#options
    const result = await listModules(this.#io, directory, this.#cache)
    if (Result.isSuccess(result)) return this.#withUniqueNames(this.#withKept(result.success))
    const refusal = { path: directory, refusal: { _tag: "Unreadable", code: result.failure } as const }
    return { modules: [...this.#present.values()], refusals: [refusal] }
  }

  /** With the modules that run and whose files are not valid at the moment. */
  #withKept({ modules, refusals }: ModuleListing): ModuleListing {
    const broken = new Set(
      refusals
        .filter(({ refusal }) => refusal._tag === "Invalid" || refusal._tag === "Unreadable")
        .map(({ path }) => path),
    )
    const kept = [...this.#present.values()].filter(({ path, codePath }) => broken.has(path) || broken.has(codePath))
    return { modules: [...kept, ...modules], refusals }
  }

  #withUniqueNames({ modules, refusals }: ModuleListing): ModuleListing {
    const byName = new Map<string, ModuleSource>()
    const isPresent = (one: ModuleSource): boolean => this.#present.get(one.file.name)?.path === one.path
    const inPreference = [...modules.filter(isPresent), ...modules.filter((one) => !isPresent(one))]
    const duplicates = inPreference.flatMap((one): RefusedModule[] => {
      const { name } = one.file
      const other = byName.get(name)?.path
      if (other === undefined) byName.set(name, one)
      return other === undefined ? [] : [{ path: one.path, refusal: { _tag: "DuplicateName", name, other } }]
    })
    const all = [...refusals, ...duplicates].sort((left, right) => (left.path < right.path ? -1 : 1))
    return { modules: [...byName.values()], refusals: all }
  }

  #take(listing: ModuleListing): void {
    const text = textOf(listing)
    this.#candidate = text
    if (text === this.#reported || this.#isClosed) return
    this.#reported = text
    const before = this.#present
    const after = new Map(listing.modules.map((one) => [one.file.name, one]))
    this.#present = after
    this.#refusals = listing.refusals
    this.#options.changed({
      added: listing.modules.filter(({ file }) => !before.has(file.name)),
      replaced: listing.modules.flatMap((one) => {
        const former = before.get(one.file.name)
        if (former === undefined || (former.hash === one.hash && former.codePath === one.codePath)) return []
        return [{ before: former, after: one }]
      }),
      removed: [...before.values()].filter(({ file }) => !after.has(file.name)),
      refusals: listing.refusals,
    })
  }

  #inTurn(action: () => Promise<void>): Promise<void> {
    const turn = this.#last.then(action)
    // An exception of `changed` reaches its caller and does not end the turns.
    this.#last = turn.catch(() => undefined)
    return turn
  }
}

/** Equal for listings with the same modules, contents and refusals. */
const textOf = ({ modules, refusals }: ModuleListing): string =>
  JSON.stringify([modules.map(({ path, hash }) => [path, hash]).sort(), refusals])
