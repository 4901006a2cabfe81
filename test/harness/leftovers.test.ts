/** A separate suite that leaves behind everything a test can: what happens to it, and where it is reported. */
import { spawn } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { startTimeOf } from "./processes.ts"
import { runDirectoryVariable } from "./run-directory.ts"
import { temporaryDirectory } from "./temporary-directory.ts"

const project = fileURLToPath(new URL("../..", import.meta.url))
const harness = (name: string): string => JSON.stringify(join(project, "test/harness", name))

const config = `export default { test: {
  globalSetup: [${harness("run-directory.ts")}], setupFiles: [${harness("ends-with-its-test.ts")}],
  pool: "forks", isolate: false, testTimeout: 300, maxWorkers: 1,
} }`

/** Starts one of everything, and notes how to find it. */
const start = `
import { spawn } from "node:child_process"
import { mkdtempSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Worker } from "node:worker_threads"
export const startAll = async (notes) => {
  // Without our environment: only the note shows which run it belongs to.
  const child = spawn("sleep", ["600"], { env: { PATH: process.env.PATH } })
  const thread = new Worker("setInterval(() => undefined, 1000)", { eval: true })
  await new Promise((resolve) => thread.once("online", resolve))
  const server = createServer().listen(0)
  await new Promise((resolve) => server.once("listening", resolve))
  const directory = mkdtempSync(join(tmpdir(), "forgotten-"))
  const found = { pid: child.pid, directory, port: server.address().port }
  writeFileSync(notes, JSON.stringify(found))
  return { ...found, thread, server }
}`

const failing = `
import { existsSync } from "node:fs"
import { expect, test } from "vitest"
import { startAll } from "./start.js"
let started
test("runs out of time", async () => {
  started = await startAll("timed-out.json")
  await new Promise(() => undefined)
})
test("is not troubled by the one before", () => {
  expect(() => process.kill(started.pid, 0)).toThrow("ESRCH")
  expect(started.thread.threadId).toBe(-1)
  expect(started.server.listening).toBe(false)
})`

const careless = `
import { test } from "vitest"
import { startAll } from "./start.js"
test("passes, and leaves everything", () => startAll("careless.json"))`

/** A grandchild process, unknown to the test's own process. */
const secret = `
import { execFileSync } from "node:child_process"
import { test } from "vitest"
test("leaves a process behind that it has not started itself", () => {
  execFileSync("sh", ["-c", "sleep 601 > /dev/null 2>&1 & echo $! > secret.json"])
})`

/** As on a machine that lacks the program which these tests need. */
const skipped = `
import { test } from "vitest"
test.skip("is skipped, and with it the hooks that remove the file's directory", () => undefined)`

interface Report {
  readonly testResults: ReadonlyArray<{
    readonly name: string
    readonly message: string
    readonly assertionResults: ReadonlyArray<{ readonly title: string; readonly status: string }>
  }>
}

test("what a suite leaves behind is ended, removed and named, and troubles no other test", async () => {
  const directory = temporaryDirectory()
  const temporary = join(directory, "tmp")
  mkdirSync(temporary)
  symlinkSync(join(project, "node_modules"), join(directory, "node_modules"))
  const files = { "vitest.config.mjs": config, "start.js": start, "package.json": '{"type":"module"}' }
  const tests = {
    "a-failing.test.js": failing,
    "b-careless.test.js": careless,
    "c-secret.test.js": secret,
    "d-skipped.test.js": skipped,
  }
  for (const [name, text] of Object.entries({ ...files, ...tests })) writeFileSync(join(directory, name), text)

  const { [runDirectoryVariable]: _, VITEST: __, ...environment } = process.env
  const vitest = join(project, "node_modules/vitest/vitest.mjs")
  const reporters = ["--reporter=default", "--reporter=json", "--outputFile.json=report.json"]
  const child = spawn(process.execPath, [vitest, "run", ...reporters], {
    cwd: directory,
    env: { ...environment, TMPDIR: temporary },
    stdio: ["ignore", "pipe", "pipe"],
  })
  let output = ""
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text
    })
  const code = await new Promise((resolve) => child.once("close", resolve))
  expect(code, output).toBe(1)

  const report = JSON.parse(readFileSync(join(directory, "report.json"), "utf8")) as Report
  const [failed, left, unseen] = report.testResults.toSorted((one, other) => (one.name < other.name ? -1 : 1))
  expect(failed?.assertionResults).toMatchObject([
    { title: "runs out of time", status: "failed" },
    { title: "is not troubled by the one before", status: "passed" },
  ])
  const noted = (name: string) =>
    JSON.parse(readFileSync(join(directory, name), "utf8")) as { pid: number; directory: string; port: number }
  const [timedOut, careful] = [noted("timed-out.json"), noted("careless.json")]
  // A file that failed anyway is not failed twice; one whose tests passed is.
  expect(failed?.message).not.toContain("left behind")
  expect(left?.message).toContain(`process ${careful.pid}: sleep 600`)
  expect(left?.message).toMatch(/worker thread \d+/)
  expect(left?.message).toContain(`"port":${careful.port}`)
  expect(left?.message).toContain(careful.directory)
  // Leftovers that no file could detect are found at the end of the run.
  const secretPid = Number(readFileSync(join(directory, "secret.json"), "utf8"))
  expect(unseen?.assertionResults).toMatchObject([{ status: "passed" }])
  expect(output).toContain(`process ${secretPid}: sleep 601`)

  expect(output).not.toContain(join("tmp", "d-skipped"))

  for (const pid of [timedOut.pid, careful.pid, secretPid]) expect(startTimeOf(pid)).toBeUndefined()
  expect([timedOut, careful].map((each) => existsSync(each.directory))).toEqual([false, false])
  expect(readdirSync(temporary)).toEqual([])
})
