/** Where a recording goes when nobody says where: a directory that outlives the recorder, once that has told its name. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { RecorderError } from "./recorder-error.ts"

/** A new directory that is removed with the scope, after all that was opened in it since, unless it was told to be kept. */
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
      // Nobody was told where it is. If it cannot be removed there is nothing to add to why the start failed.
      (made) =>
        isKept ? Effect.void : Effect.ignore(Effect.tryPromise(() => rm(made, { recursive: true, force: true }))),
    )
    const keep = (): void => {
      isKept = true
    }
    return { path, keep }
  })
