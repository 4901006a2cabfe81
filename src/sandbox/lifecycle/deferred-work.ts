/**
 * Work that the sandbox's own controllers put off: done one key after the other, a moment later on the server's clock. So a
 * controller never acts in the middle of the write that woke it, and a test with a clock of its own decides when it acts. A key
 * that cannot be worked on is reported and given up; the others are worked on.
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
