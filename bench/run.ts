/**
 * `npm run bench -- <scenario>`: runs it, prints its table beside the budgets of architecture §7, and writes the table to
 * bench/results/<scenario>.md. How to read it: docs/reference/benchmarks.md.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { ingest } from "./ingest.ts"
import { lookups } from "./lookups.ts"
import { describeMachine, type Machine, thisMachine } from "./machine.ts"
import { memory } from "./memory.ts"
import { summariseProfiles } from "./profile.ts"
import { sandbox } from "./sandbox.ts"
import type { Scenario, ScenarioReport } from "./scenario.ts"
import { formatAsMarkdown, formatForTerminal } from "./table.ts"

const scenarios: ReadonlyArray<Scenario> = [ingest, memory, sandbox, lookups]

/** Programs of their own that compare ways to do one thing; they print their own tables. */
const studies: Readonly<Record<string, string>> = {
  scanner: "what the byte scanner costs, against JSON.parse",
  "http-receive": "what receiving costs, against node:http and undici",
  mailbox: "what handing a frame to another thread costs",
  archive: "what the recording on disk costs: commit sizes, zstd levels, BLOBs against files",
}

const usage = `npm run bench -- SCENARIO [options]

  --events N   changes (each scenario has its default)
  --rounds N   interleaved rounds (each scenario has its default)
  --quick      a small run that shows that everything works; writes no table
  --profile    takes CPU profiles of the recorder alone and says where the time goes; writes no table
  --json       the table as JSON on standard output
  --list       the scenarios`

const scriptOf = (study: string): string => fileURLToPath(new URL(`./${study}.ts`, import.meta.url))

const list = (): string =>
  [
    ...scenarios.map(({ name, description }) => `${name.padEnd(14)}${description}`),
    ...Object.entries(studies)
      .filter(([name]) => existsSync(scriptOf(name)))
      .map(([name, description]) => `${name.padEnd(14)}study: ${description}`),
  ].join("\n")

const wholeNumber = (name: string, text: string | undefined): number | undefined => {
  if (text === undefined) return undefined
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 1) fail(`--${name} must be a whole number from 1 on, not ${text}`)
  return value
}

const fail = (message: string): never => {
  console.error(`bench: ${message}\n\n${usage}`)
  process.exit(2)
}

const runStudy = async (name: string, rest: ReadonlyArray<string>): Promise<never> => {
  const [code] = await once(spawn(process.execPath, [scriptOf(name), ...rest], { stdio: "inherit" }), "exit")
  process.exit(Number(code ?? 1))
}

const asDocument = (scenario: Scenario, machine: Machine, report: ScenarioReport, command: string): string =>
  [
    `# ${scenario.name}: ${scenario.description}`,
    `Measured ${new Date().toISOString().slice(0, 10)} with \`${command}\` on ${describeMachine(machine)}.`,
    formatAsMarkdown(report.measures),
    report.notes.map((note) => `- ${note}`).join("\n"),
    "",
  ].join("\n\n")

const [first = "", ...rest] = process.argv.slice(2)
if (first in studies) await runStudy(first, rest)

const { values, positionals } = (() => {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        events: { type: "string" },
        rounds: { type: "string" },
        quick: { type: "boolean", default: false },
        profile: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
        list: { type: "boolean", default: false },
      },
    })
  } catch (cause) {
    return fail(cause instanceof Error ? cause.message : String(cause))
  }
})()

if (values.list) {
  console.log(list())
  process.exit(0)
}
const scenario =
  scenarios.find(({ name }) => name === positionals[0]) ??
  fail(`${positionals[0] === undefined ? "name a scenario" : `there is no scenario ${positionals[0]}`}:\n${list()}`)
if (process.platform !== "linux") fail("processes are measured through /proc, so this needs Linux")

const events = wholeNumber("events", values.events)
const rounds = wholeNumber("rounds", values.rounds)
const machine = await thisMachine()
const profileDirectory = values.profile ? mkdtempSync(join(tmpdir(), "kubereel-profile-")) : undefined
console.error(describeMachine(machine))
const report = await scenario.run({
  events,
  rounds,
  isQuick: values.quick,
  profileDirectory,
  tell: (line) => console.error(line),
})
if (values.json) console.log(JSON.stringify({ scenario: scenario.name, machine, ...report }, undefined, 2))
else console.log(["", formatForTerminal(report.measures), "", ...report.notes].join("\n"))
if (profileDirectory !== undefined) console.log(`\n${await summariseProfiles(profileDirectory)}`)
else if (!values.quick) {
  const directory = new URL("./results/", import.meta.url)
  mkdirSync(directory, { recursive: true })
  const command = `npm run bench -- ${process.argv.slice(2).join(" ")}`
  writeFileSync(new URL(`${scenario.name}.md`, directory), asDocument(scenario, machine, report, command))
}
