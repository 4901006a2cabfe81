/**
 * Set-up of every test file: a test that fails, or runs out of time, takes down what it started, so that it fails alone. Whatever a file
 * leaves running or on disk when all its tests are over is ended, removed and named; if nothing else failed, that fails the file.
 */
import { chmodSync, mkdtempSync, readdirSync } from "node:fs"
import { basename, join } from "node:path"
import { afterAll, aroundEach, expect } from "vitest"
import { patient } from "./patience.ts"
import { noteProcess } from "./processes.ts"
import { notesIn, removeWhole, runDirectoryVariable, temporaryIn } from "./run-directory.ts"
import { beginFile, Started, seeWhatIsStarted, startedBy } from "./started.ts"

declare global {
  /** Set once this process observes what is started in it: this module is evaluated for each file. */
  var kubereelSeesWhatIsStarted: true | undefined
}

const run = process.env[runDirectoryVariable]
if (run === undefined) throw new Error("the run has no directory: is test/harness/run-directory.ts in globalSetup?")

if (globalThis.kubereelSeesWhatIsStarted === undefined) {
  globalThis.kubereelSeesWhatIsStarted = true
  seeWhatIsStarted((child) => noteProcess(notesIn(run), child))
}

const file = beginFile()
const name = basename(expect.getState().testPath ?? "file", ".test.ts").slice(0, 30)
const directory = mkdtempSync(join(temporaryIn(run), `${name}-`))
// Some tests start processes as another user.
chmodSync(directory, 0o755)
process.env.TMPDIR = directory

/** ms that leftovers get to end by themselves. */
const patienceMs = patient(5000)

let hasFailed = false

aroundEach(async (runTest, { task }) => {
  const started = new Started()
  await startedBy(started, runTest)
  if (task.result?.state !== "fail") return
  hasFailed = true
  await started.end(patienceMs)
}, 4 * patienceMs)

afterAll(async () => {
  // Half a second for those that were told to end and have not reported it yet.
  for (let turn = 0; turn < 25 && file.names.length > 0; turn++) await new Promise((resolve) => setTimeout(resolve, 20))
  const left = [...file.names]
  await file.end(patienceMs)
  left.push(...readdirSync(directory).map((each) => join(directory, each)))
  removeWhole(directory)
  if (left.length > 0 && !hasFailed) throw new Error(`left behind by its tests:\n${left.join("\n")}`)
}, 4 * patienceMs)
