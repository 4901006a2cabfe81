/**
 * `npm run bench -- [SCENARIO…]`: runs scenarios one after another, all by default; prints each table with the budgets of
 * docs/reference/architecture.md#budgets, then the overall one, and stores them in bench/results/. How to read them:
 * docs/reference/benchmarks.md.
 *
 * If a scenario fails, the others run nevertheless, and the exit code is 1. For an invalid command line it is 2.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { messageOf } from "../src/message-of.ts"
import { type BenchOptions, optionsNotTaken, optionsTaken, parseOptions, usage, workloadFlags } from "./options.ts"
import { currentCommit } from "./report/commit.ts"
import { describeMachine, thisMachine } from "./report/machine.ts"
import { summariseProfiles } from "./report/profile.ts"
import { keepFigures, keepResult, keepSummary } from "./report/result-files.ts"
import { resultForTerminal, resultOf, type ScenarioResult } from "./report/results.ts"
import { summaryCells, summaryLine } from "./report/summary.ts"
import { formatForTerminal } from "./report/table.ts"
import type { Scenario } from "./scenario.ts"
import { partsOfAll, scenarios } from "./scenarios.ts"

/** Separate programs that compare ways to do one thing; they print their own tables and have their own arguments. */
const studies: Readonly<Record<string, string>> = {
  scanner: "what the byte scanner costs, against JSON.parse",
  "http-receive": "what receiving costs, against node:http and undici",
  offenders: "what a module that misbehaves costs the others of its worker",
  archive: "what the recording on disk costs: commit sizes, zstd levels, BLOBs against files",
}

const list = (): string =>
  [
    ...scenarios.map(({ name, description, takes, takesPeer }) => {
      const flags = [...takes.map((option) => `--${workloadFlags[option]}`), ...(takesPeer ? ["--peer"] : [])]
      const line = `${name.padEnd(18)}${description}`
      return flags.length === 0 ? line : `${line}\n${" ".repeat(14)}takes ${flags.join(" ")}`
    }),
    ...Object.entries(studies).map(([name, description]) => `${name.padEnd(18)}study: ${description}`),
  ].join("\n")

const fail = (message: string): never => {
  console.error(`bench: ${message}\n\n${usage}`)
  process.exit(2)
}

const runStudy = async (name: string, rest: ReadonlyArray<string>): Promise<never> => {
  const script = fileURLToPath(new URL(`./studies/${name}.ts`, import.meta.url))
  const [code] = await once(spawn(process.execPath, [script, ...rest], { stdio: "inherit" }), "exit")
  process.exit(Number(code ?? 1))
}

const parse = (args: ReadonlyArray<string>): BenchOptions => {
  try {
    return parseOptions(args)
  } catch (cause) {
    return fail(messageOf(cause))
  }
}

/** The requested scenarios. A named one must support every given option; if all run, each gets those that it supports. */
const choose = ({ names, workload, peer, isCalibration }: BenchOptions): ReadonlyArray<Scenario> => {
  if (isCalibration && names.join() !== "guard") fail("--calibrate is for the guard alone")
  if (names.length === 0) return partsOfAll
  return names.map((name) => {
    const scenario = scenarios.find((each) => each.name === name) ?? fail(`there is no scenario ${name}:\n${list()}`)
    const refused = [
      ...optionsNotTaken(workload, scenario.takes),
      ...(peer !== undefined && !scenario.takesPeer ? ["--peer"] : []),
    ]
    if (refused.length > 0) fail(`${name} does not take ${refused.join(", ")}`)
    return scenario
  })
}

const [first = "", ...rest] = process.argv.slice(2)
if (Object.hasOwn(studies, first)) await runStudy(first, rest)
const options = parse(process.argv.slice(2))
if (options.isHelp) {
  console.log(usage)
  process.exit(0)
}
if (options.isList) {
  console.log(list())
  process.exit(0)
}
const chosen = choose(options)
if (process.platform !== "linux") fail("processes are measured through /proc, so this needs Linux")

const tell = (line: string): void => console.error(line)
// Results of another workload or number of events are not the scenario's results: they only go to the terminal, or to --json.
const isOwn = Object.keys(options.workload).length === 0 && options.events === undefined
const isKept = isOwn && !options.isQuick && !options.isProfiled
const command = ["npm run bench", ...(process.argv.length > 2 ? ["--", ...process.argv.slice(2)] : [])].join(" ")
const results: Array<ScenarioResult> = []
const failures: Array<string> = []
for (const scenario of chosen) {
  // Measured each time: other work on the machine may change in between.
  const machine = describeMachine(await thisMachine())
  tell(`\n${scenario.name}: ${machine}`)
  const profileDirectory = options.isProfiled ? mkdtempSync(join(tmpdir(), "kubereel-profile-")) : undefined
  try {
    const report = await scenario.run({
      events: options.events,
      rounds: options.rounds,
      isQuick: options.isQuick,
      isCalibration: options.isCalibration,
      profileDirectory,
      workload: optionsTaken(options.workload, scenario.takes),
      peer: scenario.takesPeer ? options.peer : undefined,
      tell,
    })
    const { name, description } = scenario
    const date = new Date().toISOString().slice(0, 10)
    const result = resultOf(report, { scenario: name, description, date, command, commit: currentCommit(), machine })
    results.push(result)
    if (report.failure !== undefined) failures.push(`${name}: ${report.failure}`)
    if (!options.isJson) console.log(`\n${resultForTerminal(result)}`)
    if (profileDirectory !== undefined) console.log(`\n${await summariseProfiles(profileDirectory)}`)
    if (isKept && partsOfAll.includes(scenario)) await keepResult(result, tell)
  } catch (cause) {
    failures.push(`${scenario.name}: ${messageOf(cause)}`)
    tell(`${scenario.name} failed: ${messageOf(cause)}`)
  }
}
if (isKept) {
  keepSummary(partsOfAll.map(({ name }) => name))
  keepFigures()
}
if (options.isJson) console.log(JSON.stringify(results, undefined, 2))
else if (chosen.length > 1) console.log(`\n${formatForTerminal(summaryCells(results))}\n\n${summaryLine(results)}`)
for (const failure of failures) tell(`bench: ${failure}`)
process.exitCode = failures.length === 0 ? 0 : 1
