/** The directory of a recording without `--data-dir`: it outlives the recorder once its name has been reported. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { RecorderError } from "./notices/recorder-error.ts"

/** A new directory that is removed with the scope, after everything that was opened in it, unless `keep` was called. */
export const temporaryDirectory = () =>
  Effect.gen(function* () {
    let isKept = false
    const path = yield* Effect.acquireRelease(
      Effect.tryPromise({
        try: () => mkdtemp(join(tmpdir(), "kubereel-")),
        catch: (cause) =>
          new RecorderError({
            message: `no temporary directory could be created: ${String(cause)}; name a directory with --data-dir`,
          }),
      }),
      // Its name was never reported. If it cannot be removed, there is nothing to add to the reason of the failed start.
      (made) =>
        isKept ? Effect.void : Effect.ignore(Effect.tryPromise(() => rm(made, { recursive: true, force: true }))),
    )
    const keep = (): void => {
      isKept = true
    }
    return { path, keep }
  })
