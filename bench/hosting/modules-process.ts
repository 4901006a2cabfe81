/**
 * WebAssembly modules in a host, in its own process, bundled as `reel host` is.
 *
 * Argument: {@link ModulesOptions} as JSON. Prints `{"started": [ms…]}` when all modules have been added, with how long each took until it was
 * entered first; `{"log": "…"}` for each line of a module; `{"trouble": "…"}`. Replies to a line `{"ask": "state"}` with `{"state": ModulesState}`.
 */
import { readFileSync } from "node:fs"
import { createInterface } from "node:readline"
import { systemClock } from "../../src/clock.ts"
import { type ModuleFile, ModuleHost, startHostThread } from "../../src/host/index.ts"

export interface ModulesOptions {
  readonly port: number
  /** Path of the code of each module. */
  readonly modules: ReadonlyArray<string>
  readonly workers: number
}

export interface ModulesState {
  /** Entries of all modules. */
  readonly wakeUps: number
  /** ms within all modules. */
  readonly runMs: number
  /** Changes that the hub has folded into later ones. */
  readonly folded: number
  readonly upstreams: number
}

const options = JSON.parse(process.argv[2] ?? "{}") as ModulesOptions

const say = (line: object): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

const endpoint = { server: `http://127.0.0.1:${options.port}`, headers: [] }
const endpoints = { endpoint: async () => endpoint, onUnauthorized: async () => undefined }
const firstEntries = new Map<string, () => void>()

const host = new ModuleHost({
  workers: options.workers,
  clock: systemClock,
  random: Math.random,
  checkWatch: async () => undefined,
  endpoints,
  identityOf: () => endpoints,
  version: "bench",
  start: startHostThread,
  onLog: (module, _stream, line) => {
    if (line === "run") firstEntries.get(module)?.()
    else say({ log: line })
  },
  onNote: (subject, note) => say({ trouble: `${subject}: ${note}` }),
})

const state = async (): Promise<ModulesState> => {
  const instances = (await host.statistics()).flatMap(({ instance }) => instance ?? [])
  const { upstreams, subscriptions } = (await host.hubStatistics()) ?? { upstreams: [], subscriptions: [] }
  return {
    wakeUps: instances.reduce((sum, { wakeUps }) => sum + wakeUps, 0),
    runMs: instances.reduce((sum, { runMs }) => sum + runMs, 0),
    folded: subscriptions.reduce((sum, { folded }) => sum + folded, 0),
    upstreams: upstreams.length,
  }
}

createInterface(process.stdin)
  .on("line", () => void state().then((value) => say({ state: value })))
  .on("close", () => process.exit(0))

const started: Array<number> = []
for (const [index, codePath] of options.modules.entries()) {
  // Otherwise the file would be in no cache of the kernel the first time, and in one ever after.
  readFileSync(codePath)
  const file: ModuleFile = { name: `module-${index}`, abi: "rust_v1alpha1", env: [], limits: {} }
  const entered = new Promise<void>((resolve) => firstEntries.set(file.name, resolve))
  const before = performance.now()
  await host.add({ file, codePath })
  await entered
  started.push(performance.now() - before)
}
say({ started })
