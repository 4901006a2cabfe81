/** `reel host --replay`: the modules of a directory meet recorded history instead of a cluster, and what they did is printed. */
import { createHash } from "node:crypto"
import { closeSync, openSync, writeSync } from "node:fs"
import { readFile, writeFile } from "node:fs/promises"
import * as Result from "effect/Result"
import { systemClock } from "../clock.ts"
import {
  compileGuest,
  defaultMemoryBytes,
  describeRefusal,
  fileSystem,
  listModules,
  loadScript,
  type ModuleSource,
  provideScriptLibrary,
} from "../host/index.ts"
import { messageOf } from "../message-of.ts"
import {
  checkOf,
  type Failure,
  type GateTrial,
  gate,
  HostedController,
  HostedModule,
  instantOf,
  isDisturbing,
  type JournalStep,
  journalText,
  loadedParts,
  nameOf,
  type Participant,
  parseExpectations,
  parseSchedule,
  type WriteEntry,
} from "../rehearsal/index.ts"
import type { Speed } from "../simulation/index.ts"
import { quoted, visible, visibleInJson } from "../text/index.ts"
import { CommandFailed, type ExitCode, exitCodes } from "./command-line/exit-codes.ts"
import { withoutFile } from "./command-line/failures.ts"
import { gateJson, gateJunit, gateLines } from "./host/gate-report.ts"
import { watchForStuck } from "./host/stuck-watch.ts"
import { openSource, type ReplaySource } from "./replay/replay-source.ts"
import { kindsNamed } from "./replay/trace-kinds.ts"
import { alignedRows } from "./terminal/display-width.ts"
import { interruption, type Terminal } from "./terminal/terminal.ts"

// What the controllers did in a rehearsal, counted, as a table for people.

const pastTense: Readonly<Record<WriteEntry["verb"], string>> = {
  create: "created",
  update: "updated",
  patch: "patched",
  delete: "deleted",
}

class ReplaySummary {
  #fed = 0
  #leftOut = 0
  readonly #deletions: string[] = []
  readonly #failures = new Map<string, number>()
  /** By controller: accepted writes by kind and verb. */
  readonly #writes = new Map<string, Map<string, number>>()
  /** By controller and key: whether the last run failed. */
  readonly #last = new Map<string, boolean>()

  add({ time, cause, entries }: JournalStep): void {
    if (cause.type === "change") {
      if (cause.fedAs === "left-out-deletion") this.#deletions.push(`${cause.kind} ${nameOf(cause)} at ${time}`)
      if (cause.fedAs.startsWith("left-out")) this.#leftOut++
      else this.#fed++
    }
    for (const entry of entries) {
      if (entry.type === "reconcile") {
        const isFailed = entry.outcome === "failed" || entry.outcome === "given-up"
        this.#last.set(`${entry.controller} ${entry.key}`, isFailed)
        if (isFailed) count(this.#failures, entry.controller)
      } else if (entry.type === "write") this.#addWrite(entry)
    }
  }

  /** Objects for which the last run failed: `simplepod shop/web`. */
  get failing(): ReadonlyArray<string> {
    return [...this.#last].filter(([, isFailed]) => isFailed).map(([name]) => name)
  }

  /** `start`, `end`: µs since the Unix epoch. */
  lines(facts: {
    readonly participants: ReadonlyArray<Participant>
    readonly gaps: number
    readonly start: number
    readonly end: number
  }): ReadonlyArray<string> {
    const { participants, gaps, start, end } = facts
    const rows = participants.map(({ name, wakeUps, failure }) => [
      name,
      String(wakeUps),
      String((this.#failures.get(name) ?? 0) + (failure === undefined ? 0 : 1)),
      [...(this.#writes.get(name) ?? [])].map(([what, times]) => `${what} ${times}`).join(", ") || "none",
    ])
    const missing = gaps === 0 ? "" : `; ${gaps} gaps in the recording`
    return [
      `${instantOf(start)} to ${instantOf(end)}: ${this.#fed} changes fed, ${this.#leftOut} left out${missing}`,
      ...alignedRows([["MODULE", "WAKE-UPS", "FAILURES", "WRITES"], ...rows]),
      ...this.#deletions.map(
        (what) =>
          `left out: the deletion of ${what}, whose owner was there; --feed-deletions feeds it, if people did it`,
      ),
      ...this.failing.map((name) => `the last run failed: ${name}`),
      ...participants.flatMap(({ name, failure }) => (failure === undefined ? [] : [`${name} has ended: ${failure}`])),
    ]
  }

  #addWrite({ controller, kind, subresource, verb, status }: WriteEntry): void {
    const what = subresource === "" ? kind : `${kind}/${subresource}`
    const writes = this.#writes.get(controller) ?? new Map<string, number>()
    this.#writes.set(controller, writes)
    count(writes, `${what} ${status < 400 ? pastTense[verb] : "refused"}`)
  }
}

const count = (counts: Map<string, number>, name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1)

/** Objects of `kind` that belong to an object of `owner` are made by the WebAssembly modules. Both are names as people write them. */
export interface MadeKind {
  readonly owner: string
  readonly kind: string
}

export interface HostReplay {
  readonly directory: string
  readonly trace: string
  /** µs since the Unix epoch. */
  readonly from: number | undefined
  readonly to: number | undefined
  readonly speed: Speed
  readonly latencyMs: number
  readonly settleMs: number
  readonly makes: ReadonlyArray<MadeKind>
  /** A file that does not exist. */
  readonly journal: string | undefined
  /** A file of expectations. */
  readonly expect: string | undefined
  readonly feedsDeletions: boolean
  readonly restartAt: number | "every-write" | undefined
  /** Texts of seeds. */
  readonly seeds: ReadonlyArray<string>
  readonly output: "text" | "json"
  readonly junit: string | undefined
}

/** Resolves with `failed` if a module was refused or trapped, if the last run for some object failed, or if what was reached is not what should be. */
export const replayHost = async (
  order: HostReplay,
  terminal: Terminal,
  say: (line: string) => void,
): Promise<ExitCode> => {
  using interrupted = interruption(terminal)
  const { signal } = interrupted
  return await withoutFile(async () => {
    const { trace, from, to } = order
    // Standard input is read twice, if names of kinds have to be looked up in it.
    const window = { from, to, duration: undefined }
    const what = { trace, recorder: undefined, window, format: undefined, repetitions: 2 }
    const source = await openSource(what, { environment: terminal.environment, signal })
    try {
      return await run({ ...order, source }, terminal, say, signal)
    } finally {
      source.close()
    }
  })
}

const run = async (
  order: HostReplay & { readonly source: ReplaySource },
  terminal: Terminal,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<ExitCode> => {
  const { source, from, to, speed, latencyMs, settleMs, feedsDeletions, journal } = order
  const expected = order.expect === undefined ? undefined : await expectationsIn(order.expect)
  const wrong = order.seeds.find((seed) => parseSchedule(seed) === undefined)
  if (wrong !== undefined)
    throw new CommandFailed(
      `--seed must be a number, or the text that a failure has named, and not ${quoted(wrong)}`,
      exitCodes.usage,
    )
  const isText = order.output === "text"
  const print = (line: string): void => (isText ? void terminal.standardOutput.write(`${line}\n`) : say(line))
  const listing = await listModules(fileSystem, order.directory)
  if (Result.isFailure(listing))
    throw new CommandFailed(`cannot read the modules of ${order.directory}: ${listing.failure}`)
  const { modules, refusals } = listing.success
  for (const { path, refusal } of refusals) for (const line of describeRefusal(path, refusal).split("\n")) say(line)
  const makes = await exactly(order.makes, source)
  let casts = 0
  const recast = () => participantsOf(modules, makes, casts++)
  const cast = await recast()
  for (const line of cast.refused) say(line)
  if (cast.participants.length === 0) throw new CommandFailed(`there is no module to replay into in ${order.directory}`)
  let file: JournalFile | undefined
  try {
    file = journal === undefined ? undefined : new JournalFile(journal)
  } catch (cause) {
    throw new CommandFailed(`cannot write the journal ${journal}: ${messageOf(cause)}`, exitCodes.usage)
  }
  const summary = new ReplaySummary()
  using _file = file
  using _watch = watchForStuck("reel host")
  const rehearsal = {
    expectations: expected?.check,
    ignored: expected?.expectations.ignore ?? [],
    window: { from, to },
    latencyMs,
    settleMs,
    feedsDeletions,
    isKept: false,
    signal,
    onStep: (step: JournalStep) => {
      summary.add(step)
      file?.add(step)
      for (const entry of step.entries) {
        if (entry.type === "log") print(`${entry.controller}: ${visible(entry.line)}`)
        if (entry.type === "trouble") say(`${step.time} ${entry.controller}: ${entry.detail}`)
      }
    },
    ...(speed !== "max" && { pace: pacedBy(speed, signal) }),
  }
  const comparedWith = expected?.expectations.recorded === "ignore" ? "nothing" : "recorded"
  const trials: GateTrial[] = []
  const opened = await source.open()
  const items = isDisturbing(order) ? await loadedParts(opened, rehearsal.window) : opened
  const first = [cast]
  const anew = async () => (first.pop() ?? (await recast())).participants
  for await (const trial of gate({ ...order, items, cast: anew, rehearsal, comparedWith })) {
    trials.push(trial)
    if (signal.aborted) break
  }
  const [undisturbed, ...disturbed] = trials
  const { rehearsed } = undisturbed ?? {}
  if (rehearsed !== undefined)
    for (const line of summary.lines({ ...rehearsed, participants: cast.participants })) print(line)
  if (signal.aborted) return exitCodes.interrupted
  const notRun = [
    ...refusals.map(({ path, refusal }) => describeRefusal(path, refusal)),
    ...cast.refused,
    ...cast.participants.flatMap(({ name, failure }) => (failure === undefined ? [] : `${name} has ended: ${failure}`)),
  ].map(notRunFailure)
  const judged = undisturbed && [{ ...undisturbed, failures: [...notRun, ...undisturbed.failures] }, ...disturbed]
  if (judged === undefined) return exitCodes.failed
  if (isText) for (const line of gateLines(judged)) print(line)
  else terminal.standardOutput.write(visibleInJson(`${JSON.stringify(gateJson(judged))}\n`))
  if (order.junit !== undefined) await written(order.junit, gateJunit(`reel host ${order.directory}`, judged))
  return judged.every(({ failures }) => failures.length === 0) ? exitCodes.ok : exitCodes.failed
}

/** Of a module that takes no part, or not until the end. */
const notRunFailure = (message: string): Failure => ({
  ...{ bug: "not-run", kind: "", object: "", differences: [], message, since: { time: "", text: "the start" } },
})

/** Rejects with CommandFailed or BadExpectations. */
const expectationsIn = async (file: string) => {
  const content = await readFile(file, "utf8").catch((cause: unknown) => {
    throw new CommandFailed(`cannot read ${file}: ${messageOf(cause)}`, exitCodes.usage)
  })
  const expectations = parseExpectations(content, file)
  return { expectations, check: checkOf(expectations, file) }
}

/** Rejects with CommandFailed. */
const written = (file: string, content: string): Promise<void> =>
  writeFile(file, content).catch((cause: unknown) => {
    throw new CommandFailed(`cannot write the report ${file}: ${messageOf(cause)}`)
  })

/** With the kinds that the names mean: built-in ones, or those of the trace. Rejects with CommandFailed. */
const exactly = async (makes: ReadonlyArray<MadeKind>, source: ReplaySource): Promise<ReadonlyArray<MadeKind>> => {
  const names = makes.flatMap(({ owner, kind }) => [owner, kind])
  const meanings = await kindsNamed(names, () => source.open())
  const kindOf = (name: string): string => meanings.get(name) ?? name
  return makes.map(({ owner, kind }) => ({ owner: kindOf(owner), kind: kindOf(kind) }))
}

/** Another one for each cast, by which a script is loaded anew with what it imports. */
const hashOf = (codeHash: string, cast: number): string =>
  cast === 0 ? codeHash : createHash("sha256").update(`${codeHash} ${cast}`).digest("hex")

/** One that cannot take part is refused, and the others do. `cast`: another number means that scripts are loaded anew, without their memory. */
const participantsOf = async (modules: ReadonlyArray<ModuleSource>, makes: ReadonlyArray<MadeKind>, cast: number) => {
  provideScriptLibrary()
  const participants: Participant[] = []
  const refused: string[] = []
  const names = new Set<string>()
  for (const module of modules) {
    const { file, codePath, codeHash, form } = module
    try {
      if (names.has(file.name)) throw new Error("another module has the same name")
      const made =
        form === "wasm"
          ? [await wasmModule(module, makes)]
          : (await loadScript({ module: file.name, codePath, codeHash: hashOf(codeHash, cast), env: file.env })).map(
              (controller) => new HostedController(controller),
            )
      for (const { name } of made) if (names.has(name)) throw new Error(`another controller is called ${name}`)
      for (const { name } of made) names.add(name)
      names.add(file.name)
      participants.push(...made)
    } catch (cause) {
      refused.push(`module ${file.name} is not run: ${codePath}: ${messageOf(cause)}`)
    }
  }
  return { participants, refused }
}

const wasmModule = async ({ file, codePath }: ModuleSource, makes: ReadonlyArray<MadeKind>): Promise<HostedModule> => {
  const { name, env, limits } = file
  const { memoryBytes = defaultMemoryBytes, deadlineMs: _deadline, ...ofRequests } = limits
  return new HostedModule({
    name,
    compiled: compileGuest(await readFile(codePath), name),
    env,
    maximumMemoryBytes: memoryBytes,
    limits: ofRequests,
    subjects: makes.map(({ owner, kind }) => ({ kind: owner, owns: [kind] })),
  })
}

/** Waits in real time until a moment is due. */
const pacedBy = (speed: number, signal: AbortSignal): ((micros: number) => Promise<void>) => {
  let first: number | undefined
  const begun = systemClock.monotonicMs()
  return (micros) => {
    first ??= micros
    const waitMs = begun + (micros - first) / 1000 / speed - systemClock.monotonicMs()
    if (waitMs <= 0 || signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = systemClock.after(waitMs, done)
      function done(): void {
        timer.cancel()
        signal.removeEventListener("abort", done)
        resolve()
      }
      signal.addEventListener("abort", done)
    })
  }
}

/** Written step by step, so that a rehearsal that is given up leaves what it did. */
class JournalFile implements Disposable {
  readonly #file: number

  /** Throws the system's error, also if the file exists. */
  constructor(path: string) {
    this.#file = openSync(path, "wx", 0o600)
  }

  add(step: JournalStep): void {
    writeSync(this.#file, journalText([step]))
  }

  [Symbol.dispose](): void {
    closeSync(this.#file)
  }
}
