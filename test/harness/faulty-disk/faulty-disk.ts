/** Builds and commands a disk that fails, see faulty-disk.c. It needs Linux and a C compiler (`CC`, or cc on the PATH). */
import { execFileSync } from "node:child_process"
import { readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { buildOnce } from "../built-once.ts"

/** What the disk does from now on. */
export type Fault = "ok" | "sync-fails" | "sync-loses" | "full" | "write-fails" | "hangs"

const source = fileURLToPath(new URL("faulty-disk.c", import.meta.url))

const compiler = process.env.CC ?? "cc"

/** Why tests of failing disks are skipped; `undefined` if they can run. */
export const noFaultyDisk = (): string | undefined => {
  if (process.platform !== "linux") return "failing disks can be imitated on Linux only"
  try {
    execFileSync(compiler, ["--version"], { stdio: "ignore" })
    return undefined
  } catch {
    return `failing disks need a C compiler: there is no ${compiler}`
  }
}

export class FaultyDisk {
  readonly #library: string
  readonly #control: string
  readonly #name: string

  /** `directory`: for its files. `name`: what the paths of the files contain that it concerns. */
  constructor(directory: string, name: string) {
    this.#library = join(directory, "faulty-disk.so")
    this.#control = join(directory, "faulty-disk.control")
    this.#name = name
    buildOnce([readFileSync(source, "utf8")], this.#library, (output) => {
      execFileSync(compiler, ["-shared", "-fPIC", "-O1", "-o", output, source, "-ldl"])
    })
  }

  /** Makes a program run on it. */
  readonly wrap = (words: ReadonlyArray<string>): ReadonlyArray<string> => [
    "env",
    `LD_PRELOAD=${this.#library}`,
    `FAULTY_DISK_NAME=${this.#name}`,
    `FAULTY_DISK_CONTROL=${this.#control}`,
    ...words,
  ]

  now(fault: Fault): void {
    // Whoever reads it at this moment must not find it empty, which means that nothing fails.
    const next = `${this.#control}.next`
    writeFileSync(next, fault)
    renameSync(next, this.#control)
  }
}
