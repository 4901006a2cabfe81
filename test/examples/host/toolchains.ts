/**
 * Builds the example guests with the commands that their page gives, into a directory of the test. A toolchain that is not installed is
 * reported by name, so that the test can be skipped.
 */
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { type CompiledGuest, compileGuest } from "../../../src/host/index.ts"
import { buildOnce, textsBelow } from "../../harness/built-once.ts"

export const project = fileURLToPath(new URL("../../../", import.meta.url))
export const examples = join(project, "examples/host")

export interface Toolchain {
  readonly language: string
  /** Why the guest cannot be built here; undefined if it can be. */
  readonly missing: () => string | undefined
  /** Throws what the compiler prints. `directory`: of the source, if it is not the example. */
  readonly build: (output: string, directory?: string) => void
}

interface Place {
  readonly directory?: string
  readonly environment?: NodeJS.ProcessEnv
}

const run = (command: string, parameters: ReadonlyArray<string>, { directory, environment }: Place = {}): string =>
  execFileSync(command, parameters, {
    cwd: directory ?? project,
    encoding: "utf8",
    env: { ...process.env, ...environment },
    stdio: "pipe",
  })

const wasmTarget = ["--target", "wasm32-unknown-unknown"]

/** The first compiler that has a standard library for WebAssembly: rustup's often has none where Debian's has. */
const rustc = (): string | undefined =>
  [process.env.RUSTC ?? "rustc", "/usr/bin/rustc"].find((command) => {
    try {
      return existsSync(run(command, ["--print", "target-libdir", ...wasmTarget]).trim())
    } catch {
      return false
    }
  })

const goVersion = (): string | undefined => {
  try {
    return run("go", ["env", "GOVERSION"]).trim()
  } catch {
    return undefined
  }
}

export const toolchains: ReadonlyArray<Toolchain> = [
  {
    language: "assemblyscript",
    missing: () => undefined,
    build: (output) => {
      const compiler = join(project, "node_modules/assemblyscript/bin/asc.js")
      const parameters = [compiler, "simplepod.ts", "--outFile", output]
      run(process.execPath, parameters, { directory: join(examples, "assemblyscript") })
    },
  },
  {
    language: "rust",
    missing: () => (rustc() === undefined ? "no rustc with the target wasm32-unknown-unknown is installed" : undefined),
    build: (output) => {
      const options = ["--edition", "2021", "--crate-type", "cdylib", ...wasmTarget]
      const codegen = ["-C", "opt-level=s", "-C", "panic=abort", "-C", "strip=symbols", "-D", "warnings"]
      const parameters = [...options, ...codegen, "simplepod.rs", "-o", output]
      run(rustc() ?? "rustc", parameters, { directory: join(examples, "rust") })
    },
  },
  {
    language: "go",
    missing: () => {
      const version = goVersion()
      if (version === undefined) return "Go is not on the PATH"
      const minor = Number(/^go1\.(\d+)/.exec(version)?.[1] ?? Number.POSITIVE_INFINITY)
      return minor < 24 ? `${version} cannot export functions to WebAssembly; 1.24 can` : undefined
    },
    build: (output, directory = join(examples, "go")) => {
      const environment = { GOOS: "wasip1", GOARCH: "wasm", GOTOOLCHAIN: "local", GOFLAGS: "-buildvcs=false" }
      run("go", ["build", "-buildmode=c-shared", "-o", output], { directory, environment })
    },
  },
]

/** Builds the guest, once in a run. */
export const built = ({ language, build }: Toolchain, output: string): void =>
  buildOnce([language, ...textsBelow(join(examples, language))], output, build)

/** The built guest. */
export const compiled = (toolchain: Toolchain, output: string): CompiledGuest => {
  built(toolchain, output)
  return compileGuest(readFileSync(output), toolchain.language)
}
