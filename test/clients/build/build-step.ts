/**
 * One command of a build, bounded and at low priority: compilers of others take minutes of all cores. What a tool has compiled when it is
 * ended stays in its cache, so that the next run goes on from there.
 */

import { spawn } from "node:child_process"
import { mkdir, mkdtemp, rm } from "node:fs/promises"
import { constants, homedir, setPriority, tmpdir } from "node:os"
import { join } from "node:path"

/** Why a program cannot be run here. Anything else that prevents a build is an error. */
export interface Missing {
  readonly missing: string
}

export interface Step {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
}

/** s that one command of a build may take. The default is above what the slowest takes on two cores that are busy with other things. */
const limitVariable = "KUBEREEL_TEST_BUILD_SECONDS"
const defaultLimit = 900

/** What the tools print if a registry is out of reach, or too old a tool is installed; a program that does not compile is a failure. */
const unreachable =
  /rustup target add|dial tcp|no such host|requires go >=|module lookup disabled|Could not resolve host|Couldn't resolve host|spurious network error|requires rustc|No matching distribution|Failed to establish a new connection|ensurepip is not available|Could not transfer artifact|Unknown host|has not been downloaded from it before|ENOTFOUND|EAI_AGAIN|ECONNREFUSED/i

/** A folder in the user's cache directory, which survives runs and worktrees. Made if it is not there. */
export const cacheFolder = async (name: string): Promise<string> => {
  const folder = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "kubereel-clients", name)
  await mkdir(folder, { recursive: true })
  return folder
}

/** @throws Error with what the command printed, if it failed for any reason but those of {@link Missing}. */
export const buildStep = async (
  command: string,
  words: ReadonlyArray<string>,
  { cwd, env = {} }: Step,
): Promise<Missing | undefined> => {
  const limit = limitOf(process.env[limitVariable])
  // A tool that is ended leaves its temporary files.
  const temporary = await mkdtemp(join(tmpdir(), "kubereel-build-"))
  // A group of its own, because the tools run compilers that would go on without them.
  const child = spawn(command, words, {
    cwd,
    env: { ...process.env, TMPDIR: temporary, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  })
  const parts: Buffer[] = []
  child.stdout.on("data", (part: Buffer) => parts.push(part))
  child.stderr.on("data", (part: Buffer) => parts.push(part))
  const { pid } = child
  if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL)
  const end = () => {
    if (pid !== undefined && child.exitCode === null) process.kill(-pid, "SIGKILL")
  }
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    end()
  }, limit * 1000)
  process.once("exit", end)
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on("error", reject)
      child.on("close", resolve)
    })
    if (code === 0) return undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { missing: `${command} is not installed` }
    throw error
  } finally {
    clearTimeout(timer)
    process.removeListener("exit", end)
    await rm(temporary, { recursive: true, force: true, maxRetries: 5 })
  }
  const called = `${command} ${words[0] ?? ""}`
  if (isLate)
    return {
      missing: `${called} took more than ${limit} s (${limitVariable}); the next run goes on from what is in its cache`,
    }
  const output = Buffer.concat(parts).toString("utf8").trim()
  const reason = output.split("\n").find((line) => unreachable.test(line))
  if (reason !== undefined) return { missing: `${called}: ${reason.trim()}` }
  throw new Error(`${called} failed:\n${output.slice(-6000)}`)
}

const limitOf = (text: string | undefined): number => {
  if (text === undefined) return defaultLimit
  const seconds = Number(text)
  if (!(seconds > 0)) throw new Error(`${limitVariable}=${text}: it must be a number above 0`)
  return seconds
}
