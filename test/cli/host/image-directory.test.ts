import { type ChildProcess, spawn } from "node:child_process"
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, onTestFinished, test } from "vitest"
import { openImageDirectory } from "../../../src/cli/host/host-modules.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"

const source = fileURLToPath(new URL("../../../src/cli/host/host-modules.ts", import.meta.url))
const noTrouble = (detail: string): void => expect.unreachable(detail)

/** A process that has a directory open, with an image in it. */
const openElsewhere = async (temporary: string): Promise<{ readonly path: string; kill(): Promise<void> }> => {
  const program = `
    import { writeFileSync } from "node:fs"
    import { openImageDirectory } from ${JSON.stringify(source)}
    using directory = openImageDirectory(${JSON.stringify(temporary)}, console.error)
    const { path } = directory
    writeFileSync(path + "/1-1.image", "memory")
    console.log(path)
    await new Promise((resolve) => setTimeout(resolve, 1e9))`
  const child: ChildProcess = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "pipe", "inherit"],
  })
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child.once("exit", resolve))
    child.kill("SIGKILL")
    await ended
  }
  onTestFinished(kill)
  const path = await new Promise<string>((resolve, reject) => {
    child.stdout?.once("data", (text) => resolve(String(text).trim()))
    child.once("exit", () => reject(new Error("it has ended")))
  })
  return { path, kill }
}

test("a directory is gone with its host, with everything in it", () => {
  const temporary = temporaryDirectory()
  const directory = openImageDirectory(temporary, noTrouble)
  writeFileSync(join(directory.path, "1-1.image"), "memory")
  directory[Symbol.dispose]()
  expect(readdirSync(temporary)).toEqual([])
})

test("what a killed host has left is removed by the next one, and what a living one has is not", async () => {
  const temporary = temporaryDirectory()
  const [killed, living] = await Promise.all([openElsewhere(temporary), openElsewhere(temporary)])
  await killed.kill()
  using first = openImageDirectory(temporary, noTrouble)
  expect(existsSync(killed.path)).toBe(false)
  expect(existsSync(join(living.path, "1-1.image"))).toBe(true)
  // Of this process, which has no lock against itself but SQLite's.
  using second = openImageDirectory(temporary, noTrouble)
  expect(
    readdirSync(temporary)
      .map((name) => join(temporary, name))
      .sort(),
  ).toEqual([living.path, first.path, second.path].sort())
})

test("directories of others and links are left alone, whatever their names", () => {
  const temporary = temporaryDirectory()
  const elsewhere = mkdtempSync(join(temporary, "mine-"))
  writeFileSync(join(elsewhere, "lock"), "")
  symlinkSync(elsewhere, join(temporary, "kubereel-host-link"))
  mkdirSync(join(temporary, "kubereel-host-without-lock"))
  const isRoot = process.getuid?.() === 0
  if (isRoot) {
    mkdirSync(join(temporary, "kubereel-host-other"))
    writeFileSync(join(temporary, "kubereel-host-other", "lock"), "")
    chownSync(join(temporary, "kubereel-host-other"), 65_532, 65_532)
  }
  const before = readdirSync(temporary)
  openImageDirectory(temporary, noTrouble)[Symbol.dispose]()
  expect(readdirSync(temporary)).toEqual(before)
  expect(readdirSync(elsewhere)).toEqual(["lock"])
})

test("a lock that is none is reported, and nothing is removed", () => {
  const temporary = temporaryDirectory()
  const left = join(temporary, "kubereel-host-left")
  mkdirSync(left)
  writeFileSync(join(left, "lock"), "no database ".repeat(100))
  const troubles: string[] = []
  openImageDirectory(temporary, (detail) => troubles.push(detail))[Symbol.dispose]()
  expect(troubles).toEqual([expect.stringMatching(/kubereel-host-left, .* cannot be removed: file is not a database/)])
  expect(readdirSync(left)).toEqual(["lock"])
})
