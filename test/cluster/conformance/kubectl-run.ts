/** Runs kubectl commands against one server and makes their outputs comparable. */

import { spawn } from "node:child_process"
import { setTimeout as sleep } from "node:timers/promises"
import type { Command } from "./kubectl-script.ts"

/** A server as kubectl reaches it. */
export interface KubectlServer {
  readonly kubectl: string
  readonly kubeconfig: string
  /** Directory of the discovery cache: each server needs its own. */
  readonly cacheDirectory: string
  readonly namespace: string
}

/** The result of one call, in comparable form. */
export interface Outcome {
  readonly code: number | null
  readonly output: readonly string[]
  readonly errors: readonly string[]
}

/** No call of the script takes longer unless the server never does what it waits for. */
const longestMs = 90_000

export const runCommand = async (server: KubectlServer, command: Command): Promise<Outcome> => {
  const child = start(server, command.words)
  const timer = setTimeout(() => child.process.kill("SIGKILL"), longestMs)
  child.process.stdin.end(command.input ?? "")
  const code = await child.ended
  clearTimeout(timer)
  const output = comparableLines(child.output(), server)
  return {
    code,
    output: command.lastLine === true ? output.slice(-1) : command.sorted === true ? [...output].sort() : output,
    errors: comparableLines(child.errors(), server).map(withoutExplanation),
  }
}

/** Runs `kubectl get -w` during an action, and until `lines` lines have come (10 s at most). */
export const watchWhile = async (
  server: KubectlServer,
  words: readonly string[],
  lines: number,
  act: () => Promise<unknown>,
): Promise<readonly string[]> => {
  const child = start(server, words)
  child.process.stdin.end()
  try {
    const isPast = async (count: number): Promise<void> => {
      const deadline = performance.now() + 10_000
      while (child.output().split("\n").length <= count && performance.now() < deadline) await sleep(20)
    }
    // The heading and the present object: from then on every change is seen.
    await isPast(2)
    await act()
    await isPast(lines)
    return comparableLines(child.output(), server)
  } finally {
    child.process.kill("SIGTERM")
    await child.ended
  }
}

const start = ({ kubectl, kubeconfig, cacheDirectory, namespace }: KubectlServer, words: readonly string[]) => {
  const given = ["--kubeconfig", kubeconfig, "--cache-dir", cacheDirectory, "-n", namespace]
  const { KUBECONFIG: _never, ...env } = process.env
  const child = spawn(kubectl, [...given, ...words], { env: { ...env, KUBECTL_EXTERNAL_DIFF: "diff -u -N" } })
  const parts: { readonly output: Buffer[]; readonly errors: Buffer[] } = { output: [], errors: [] }
  child.stdout.on("data", (part: Buffer) => parts.output.push(part))
  child.stderr.on("data", (part: Buffer) => parts.errors.push(part))
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on("error", reject)
    child.on("close", resolve)
  })
  const text = (of: readonly Buffer[]) => (): string => Buffer.concat(of).toString("utf8")
  return { process: child, ended, output: text(parts.output), errors: text(parts.errors) }
}

/** Reduces a refusal to its reason and the field or object it concerns. */
const withoutExplanation = (line: string): string =>
  line
    .replace(/^(Error from server(?: \(\w+\))?):.*/, "$1")
    .replace(/( is invalid):.*/, "$1")
    .replace(/^\* ([^:]+):.*/, "* $1")

/** Ages, times, addresses, versions, hashes and ends of names become words; columns are as wide as those were long. */
const comparableLines = (text: string, { namespace }: KubectlServer): readonly string[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) =>
      line
        .replaceAll(namespace, "<ns>")
        .replace(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "<uid>")
        .replace(/\b(kwok|node)-\d+\b/g, "<node>")
        .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.\d]*( [+-]\d{4}|Z)?/g, "<time>")
        .replace(/[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}/g, "<time>")
        .replace(/\/tmp\/[^\s]*/g, "<file>")
        .replace(/https?:\/\/127\.0\.0\.1:\d+/g, "<server>")
        .replace(/\b10(\.\d{1,3}){3}\b/g, "<address>")
        .replace(/(resourceVersion: ")\d+"/g, '$1<version>"')
        .replace(/(Resource Version: +)\d+/g, "$1<version>")
        .replace(/("resourceVersion": ")\d+"/g, '$1<version>"')
        .replace(/(-|hash=)[bcdf0-9ghjklmnpqrstvwxz]{8,10}(?=[\s,]|-|$)/g, "$1<hash>")
        .replace(/(<hash>-)[bcdfghjklmnpqrstvwxz2456789]{5}\b/g, "$1<end>")
        // After the ends of pods' names, some of which look like ages.
        .replace(/\b(\d+[dhm])?\d+(\.\d+)?(ms|[smhd])\b/g, "<age>")
        .replace(/ {2,}/g, "  ")
        .trimEnd(),
    )
