/**
 * Deferred work of the sandbox's built-in controllers: processed one key after the other, in a timer of the server's clock. So
 * a controller never acts in the middle of the write that triggered it, and a test with its own clock decides when it acts. A
 * key whose processing fails is reported and dropped; the others are processed. One that an admission webhook refuses is tried
 * again later, as by the real controllers.
 */

import { troubleOf } from "../../apiserver/http/trouble.ts"
import { WorkQueue } from "../../host/queue/work-queue.ts"
import { Refusal } from "../writes/refusal.ts"
import type { WriteSurroundings } from "../writes/surroundings.ts"
import { admitted } from "../writes/webhooks/admitted.ts"

export const deferredWork = (
  around: WriteSurroundings,
  work: (around: WriteSurroundings, key: string) => void,
): WorkQueue => {
  const { clock, onTrouble } = around
  const queue = new WorkQueue({
    clock,
    process: (key) => admitted(around, (own) => work(own, key)),
    concurrency: 1,
    start: "timer",
    maximumRetries: 0,
    onError(key, error) {
      onTrouble(troubleOf(`work on ${JSON.stringify(key)}`, error))
      if (error instanceof Refusal) queue.addRateLimited(key)
    },
  })
  return queue
}
