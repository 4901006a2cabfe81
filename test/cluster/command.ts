/** Runs programs for the cluster suite: kubectl, the scripted workload, the recorder. */

import { type ChildProcess, execFile, spawn } from "node:child_process"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { patient } from "../harness/patience.ts"
import { open } from "./connection.ts"
import { type Json, parseExactly } from "./exact-json.ts"
import type { TestCluster } from "./guard.ts"

const run = promisify(execFile)
const maxBuffer = 64 << 20

/** What kubectl prints, parsed. @param words everything but `--kubeconfig` and `-o json`. */
export const kubectlJson = async (cluster: TestCluster, ...words: string[]): Promise<Json> =>
  parseExactly(await kubectl(cluster, ...words, "-o", "json"))

/** @throws Error with kubectl's message when it ends with another code than 0. */
export const kubectl = async (cluster: TestCluster, ...words: string[]): Promise<string> =>
  (await run(cluster.kubectl, ["--kubeconfig", cluster.kubeconfig, ...words], { maxBuffer })).stdout

/** The scripted half minute of workload/churn. @param words `clean`, or nothing. @param prefix of its namespaces. */
export const churn = async (cluster: TestCluster, prefix: string, ...words: string[]): Promise<void> => {
  const script = fileURLToPath(new URL("workload/churn", import.meta.url))
  const env = {
    ...process.env,
    KUBEREEL_TEST_KUBECONFIG: cluster.kubeconfig,
    KUBECTL: cluster.kubectl,
    PREFIX: prefix,
  }
  await run(script, words, { env, maxBuffer })
}

/** A running `reel record`. */
export interface Recorder {
  /** `http://127.0.0.1:<port>`, or with https. */
  readonly address: string
  /** Everything it wrote to standard error so far: for messages about failures. */
  readonly log: () => string
  /** SIGTERM; resolves with its exit code, or rejects when it does not end within 15 s (more on a busy machine) or is ended by a signal. */
  readonly stop: () => Promise<number>
  /** SIGKILL; resolves when it is gone. */
  readonly kill: () => Promise<void>
}

/**
 * Starts the recorder as users do and waits, at most a minute, until it is ready: no kind is still being listed; or until it stands by.
 *
 * @param config a path; `undefined` for `--all`.
 * @param more options of `reel record`.
 */
export const startRecorder = async (
  cluster: Pick<TestCluster, "kubeconfig">,
  config: string | undefined,
  dataDirectory: string,
  more: ReadonlyArray<string> = [],
): Promise<Recorder> => {
  const reel = fileURLToPath(new URL("../../bin/reel.js", import.meta.url))
  const what = config === undefined ? ["--all"] : ["--config", config]
  const words = ["record", ...what, "--kubeconfig", cluster.kubeconfig]
  words.push(...(more.includes("--listen") ? [] : ["--listen", "0"]), "--data-dir", dataDirectory, ...more)
  const { KUBECONFIG: _never, ...env } = process.env
  const child = spawn(process.execPath, [reel, ...words], { env, stdio: ["ignore", "ignore", "pipe"] })
  const log: string[] = []
  child.stderr.setEncoding("utf8").on("data", (text: string) => log.push(text))
  const ended = endOf(child)
  const address = (): string | undefined => /listening on (https?:\S+)/.exec(log.join(""))?.[1]
  const isStarted = async (): Promise<boolean> => {
    const url = address()
    return url !== undefined && ((await isReady(url)) || /INFO +standby; /.test(log.join("")))
  }
  const deadline = performance.now() + 60_000
  while (!(await isStarted())) {
    const end = await Promise.race([ended, sleep(100)])
    if (end !== undefined) throw new Error(`the recorder ended with code ${end.code} (${end.signal}):\n${log.join("")}`)
    if (performance.now() > deadline) {
      child.kill("SIGKILL")
      throw new Error(`the recorder was not ready within a minute:\n${log.join("")}`)
    }
  }
  return {
    address: address() ?? "",
    log: () => log.join(""),
    stop: async () => {
      child.kill("SIGTERM")
      const { code, signal } = await Promise.race([
        ended,
        sleep(patient(15_000), { code: null, signal: "none" }, { ref: false }),
      ])
      if (code !== null) return code
      child.kill("SIGKILL")
      throw new Error(`the recorder did not end by itself (signal ${signal}):\n${log.join("")}`)
    },
    kill: async () => {
      child.kill("SIGKILL")
      await ended
    },
  }
}

const endOf = (child: ChildProcess): Promise<{ code: number | null; signal: string | null }> =>
  new Promise((resolve, reject) => {
    child.on("error", reject)
    child.on("close", (code, signal) => resolve({ code, signal }))
  })

/** Whether it records, and no kind is still being listed. */
export const isReady = (address: string): Promise<boolean> =>
  open({ server: address, options: { rejectUnauthorized: false } }, "/readyz").then(
    async (response) => {
      await response.resume().toArray()
      return response.statusCode === 200
    },
    // Not listening yet: the caller checks whether the process is still running.
    () => false,
  )
