/**
 * Deferred work of the sandbox's built-in controllers: processed one key after the other, in a timer of the server's clock. So
 * a controller never acts in the middle of the write that triggered it, and a test with its own clock decides when it acts. A
 * key whose processing fails is reported and dropped; the others are processed.
 */

import { troubleOf } from "../../apiserver/http/trouble.ts"
import { WorkQueue } from "../../host/work-queue.ts"
import type { WriteSurroundings } from "../writes/surroundings.ts"

export const deferredWork = (
  { clock, onTrouble }: Pick<WriteSurroundings, "clock" | "onTrouble">,
  work: (key: string) => void,
): WorkQueue =>
  new WorkQueue({
    clock,
    process: work,
    concurrency: 1,
    start: "timer",
    maximumRetries: 0,
    onError: (key, error) => onTrouble(troubleOf(`work on ${JSON.stringify(key)}`, error)),
  })
