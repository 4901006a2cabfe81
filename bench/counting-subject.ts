/**
 * Subjects that only count: the null reader and the informer. They say `{"listed": true}` once, then take lines
 * `{"until": n}` and say `{"taken": n}` when they have seen n changes.
 */
import { fileURLToPath } from "node:url"
import { fieldOf, LineProcess } from "./line-process.ts"
import type { RunningSubject, StartSubject } from "./subject.ts"

const start =
  (script: string): StartSubject =>
  async (cluster, { kinds }): Promise<RunningSubject> => {
    const path = fileURLToPath(new URL(script, import.meta.url))
    const child = new LineProcess({ script: [path, String(cluster.port), ...kinds], endsBy: "input" })
    const hasListed = child.hear("the lists", 2 ** 31 - 1, fieldOf<boolean>("listed"))
    // Asked for later, and by then it may have failed.
    hasListed.catch(() => undefined)
    return {
      pid: child.pid,
      listed: async (timeoutMs) => {
        await within(hasListed, timeoutMs, () => child.error(`${script} has not listed within ${timeoutMs} ms`))
      },
      taken: async (changes, timeoutMs) => {
        const answer = child.hear(`${changes} changes`, timeoutMs, (line) =>
          (fieldOf<number>("taken")(line) ?? 0) >= changes ? true : undefined,
        )
        child.tell({ until: changes })
        await answer
      },
      [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
    }
  }

/** Reads the bytes of one watch and does nothing with them. */
export const startNullReader = start("./null-reader.ts")

/** The library's informer, one per kind, as its users write it. */
export const startInformer = start("./informer.ts")

const within = async <Value>(promise: Promise<Value>, timeoutMs: number, late: () => Error): Promise<Value> => {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), timeoutMs)
  })
  return Promise.race([promise, timeout]).finally(() => clearTimeout(timer))
}
