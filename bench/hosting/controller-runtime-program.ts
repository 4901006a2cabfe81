/**
 * The program in Go beside which scenario *host* measures: one controller of controller-runtime (bench/hosting/controller-runtime/).
 *
 * It is built where Go is installed, and kept in the user's cache directory. Go itself finds out whether it is up to date: that takes a second, the
 * first build some minutes.
 */
import { execFile } from "node:child_process"
import { mkdir } from "node:fs/promises"
import { homedir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { messageOf } from "../../src/message-of.ts"

/** The path of the program, or why there is none: a sentence without its full stop. */
export type GoProgram = { readonly path: string } | { readonly missing: string }

const sources = fileURLToPath(new URL("./controller-runtime/", import.meta.url))

/** ms. A first build compiles all of client-go. */
const buildMs = 600_000

const runFile = promisify(execFile)

/** @param environment of Go: PATH, and the directory for caches (`XDG_CACHE_HOME`, default `~/.cache`) */
export const buildControllerRuntime = async (environment: NodeJS.ProcessEnv = process.env): Promise<GoProgram> => {
  const directory = join(environment.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "kubereel-bench")
  const path = join(directory, "controller-runtime")
  await mkdir(directory, { recursive: true })
  // Neither another toolchain is downloaded nor a module of another version taken than go.sum has.
  const env = { ...environment, GOTOOLCHAIN: "local", GOFLAGS: "-buildvcs=false -mod=readonly", GOWORK: "off" }
  try {
    await runFile("go", ["build", "-trimpath", "-o", path, "."], { cwd: sources, env, timeout: buildMs })
    return { path }
  } catch (cause) {
    return { missing: reasonOf(cause) }
  }
}

const reasonOf = (cause: unknown): string => {
  const { code, killed, stderr = "" } = cause as { code?: unknown; killed?: boolean; stderr?: string }
  if (code === "ENOENT") return "Go is not on the PATH"
  if (killed === true) return `go build was not ready after ${buildMs / 1000} s`
  // Of several lines the last says what is wrong; those before name the modules that were fetched.
  return `go build failed: ${stderr.trim().split("\n").at(-1) || messageOf(cause)}`
}
