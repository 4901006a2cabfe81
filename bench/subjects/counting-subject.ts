/**
 * Subjects that only count: the null reader and the informer. They say `{"listed": true}` once, then take lines
 * `{"until": n}` and say `{"taken": n}` when they have seen n changes.
 */
import { collectableOptions, collectGarbage } from "../processes/forced-collection.ts"
import { fieldOf, LineProcess } from "../processes/line-process.ts"
import { asJavaScript } from "./as-javascript.ts"
import type { RunningSubject, StartSubject } from "./subject.ts"

const start = (script: string): StartSubject => {
  let program: Promise<string> | undefined
  return async (cluster, { kinds }): Promise<RunningSubject> => {
    program ??= asJavaScript(new URL(`./${script}.ts`, import.meta.url))
    const child = new LineProcess({
      script: [await program, String(cluster.port), ...kinds],
      endsBy: "input",
      environment: { NODE_OPTIONS: collectableOptions },
    })
    const hasListed = child.hear("the lists", 2 ** 31 - 1, fieldOf<boolean>("listed"))
    const listedAt = hasListed.then(() => performance.now())
    // Asked for later, and by then it may have failed.
    listedAt.catch(() => undefined)
    return {
      pid: child.pid,
      listed: (timeoutMs) =>
        within(listedAt, timeoutMs, () => child.error(`${script} has not listed within ${timeoutMs} ms`)),
      taken: async (changes, timeoutMs) => {
        const answer = child.hear(`${changes} changes`, timeoutMs, (line) =>
          (fieldOf<number>("taken")(line) ?? 0) >= changes ? true : undefined,
        )
        child.tell({ until: changes })
        await answer
        return performance.now()
      },
      collectGarbage: () => collectGarbage(child),
      [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
    }
  }
}

/** Reads the bytes of one watch and does nothing with them. */
export const startNullReader = start("null-reader")

/** The library's informer, one per kind, as its users write it. */
export const startInformer = start("informer")

const within = async <Value>(promise: Promise<Value>, timeoutMs: number, late: () => Error): Promise<Value> => {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), timeoutMs)
  })
  return Promise.race([promise, timeout]).finally(() => clearTimeout(timer))
}
