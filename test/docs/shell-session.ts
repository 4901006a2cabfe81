/**
 * A reader's terminal: one bash in which the command blocks of a page run one after the other, so that variables and the working directory
 * carry over. What a block prints goes to a file of its own, which is complete when the block has ended.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import type { Readable } from "node:stream"
import { patient } from "../harness/patience.ts"
import { until } from "../recorder/recorder/recorder-command.ts"

/** A command that ended with another code than 0. */
export interface FailedCommand {
  readonly code: number
  /** Line of the block, counted from 1; of a pipeline or a continued line its first or last one, as bash counts. */
  readonly line: number
}

export interface BlockRun {
  readonly output: string
  readonly failed: ReadonlyArray<FailedCommand>
}

/** For an idle machine. */
const blockMs = 60_000

/** The trap reports commands of blocks only: the `source` that runs a block fails, too, if its last command does. */
const preparation = `
set -o pipefail -o errtrace
trap 'code=$?; [ "\${BASH_SOURCE[0]}" = "$block" ] && echo "failed $code $LINENO" >&3' ERR
`

export class ShellSession {
  readonly #bash: ChildProcess
  readonly #directory: string
  readonly #replies: AsyncIterator<string>
  #blocks = 0
  /** Blocks that run on: their process groups, and where their output goes. */
  readonly #runningOn: Array<{ readonly pid: number; readonly file: string }> = []

  /** @param directory working directory of the session, and of the files that it keeps. */
  constructor(directory: string, environment: NodeJS.ProcessEnv) {
    this.#directory = directory
    this.#bash = spawn("bash", ["--noprofile", "--norc"], {
      cwd: directory,
      env: environment,
      stdio: ["pipe", "ignore", "inherit", "pipe"],
    })
    const lines = createInterface({ input: this.#bash.stdio[3] as Readable })
    this.#replies = lines[Symbol.asyncIterator]()
    this.#send(preparation)
  }

  /** Runs a block to its end. @throws Error if it ends the shell, or does not end. */
  async run(file: string): Promise<BlockRun> {
    const output = this.#nextOutput()
    this.#send(`block=${file}; source ${file} < /dev/null > ${output} 2>&1\necho done >&3\n`)
    const failed: FailedCommand[] = []
    const timer = setTimeout(() => this.#bash.kill("SIGKILL"), patient(blockMs))
    try {
      for (let reply = await this.#reply(output); reply !== "done"; reply = await this.#reply(output)) {
        const [, code, line] = reply.split(" ")
        failed.push({ code: Number(code), line: Number(line) })
      }
    } finally {
      clearTimeout(timer)
    }
    return { output: readFileSync(output, "utf8"), failed }
  }

  /** Starts a block as if in another terminal, and returns once its output has all these texts. */
  async runOn(file: string, texts: ReadonlyArray<string>): Promise<void> {
    const output = this.#nextOutput()
    // With job control it is a process group, to which Ctrl-C can be sent; without, it would ignore SIGINT.
    this.#send(`set -m; block=none; source ${file} < /dev/null > ${output} 2>&1 & echo $! >&3; set +m\n`)
    const pid = Number(await this.#reply(output))
    this.#runningOn.push({ pid, file: output })
    const said = (): string => readFileSync(output, "utf8")
    const isThere = (): boolean => texts.every((text) => said().includes(text))
    await until(isThere, () => `${texts.join(", ")} in what ${file} prints:\n${said()}`, blockMs)
  }

  /** Ctrl-C for what runs on, the last one first, each of which has to end with exit code 0, then the end of the shell. */
  async close(): Promise<void> {
    try {
      for (const { pid, file } of this.#runningOn.splice(0).reverse()) {
        this.#send(`kill -INT -- -${pid}; wait ${pid}; echo $? >&3\n`)
        const code = await this.#reply(file)
        if (code !== "0")
          throw new Error(`after Ctrl-C it ended with exit code ${code}:\n${readFileSync(file, "utf8")}`)
      }
    } finally {
      this.#bash.stdin?.end("exit\n")
    }
  }

  #nextOutput(): string {
    const file = join(this.#directory, `.output-${++this.#blocks}`)
    writeFileSync(file, "")
    return file
  }

  #send(text: string): void {
    this.#bash.stdin?.write(text)
  }

  async #reply(output: string): Promise<string> {
    const { value, done } = await this.#replies.next()
    if (done === true)
      throw new Error(`the shell ended, or was ended after ${blockMs} ms:\n${readFileSync(output, "utf8")}`)
    return value
  }
}
