/** Runs all scripts against both servers, several at a time, and compares. */

import { comparable } from "./comparable.ts"
import { type Difference, differencesOf } from "./compare.ts"
import { runScript } from "./run-script.ts"
import type { Script } from "./script.ts"
import type { Target } from "./target.ts"

/** Enough that while one script waits for controllers the servers work for others. */
const parallel = 8

/** Starts at once; every script has its promise. @param run distinguishes the namespaces of one run; a part of a DNS label. */
export const runAll = (
  real: Target,
  sandbox: Target,
  scripts: readonly Script[],
  run: string,
  variables: Readonly<Record<string, string>> = {},
): ReadonlyMap<Script, Promise<readonly Difference[]>> => {
  const waiting: Array<() => void> = []
  let running = 0
  const turn = async (): Promise<void> => {
    if (running >= parallel) await new Promise<void>((resolve) => waiting.push(resolve))
    running++
  }
  const done = (): void => {
    running--
    waiting.shift()?.()
  }
  const compareOne = async (script: Script): Promise<readonly Difference[]> => {
    await turn()
    try {
      const namespace = `${script.name}-${run}`
      const [expected, found] = await Promise.all([
        runScript(real, script, namespace, variables),
        // A server that is compared with itself needs two.
        runScript(sandbox, script, real.host === sandbox.host ? `${namespace}-2` : namespace, variables),
      ])
      return differencesOf(script.name, comparable(expected), comparable(found))
    } finally {
      done()
    }
  }
  return new Map(scripts.map((script) => [script, compareOne(script)]))
}
