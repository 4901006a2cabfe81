/**
 * The caches of one script: those of its thread, of which it gets each only once its account may have it, and while it may.
 *
 * Guaranteed: nothing is watched for a script alone before its right is known; a right that is taken away ends its use of the cache, and is
 * reported. The objects of scripts that may all see them are the same.
 */

import { formatGvk } from "../../../kube/gvk.ts"
import type { CacheSource, KindSelection, OpenCache } from "../../controller/access/cache-source.ts"
import type { Acquired, SharedCaches } from "../../controller/access/shared-caches.ts"

/** Hears whether a script may have a selection. */
export interface Applicant {
  granted(): void
  /** Now, or not any more. `problem`: for people. */
  refused(problem: string): void
}

interface GrantedSourceOptions {
  /** Of the thread. */
  readonly caches: SharedCaches
  /** Asks for a selection on behalf of the script. Returns what withdraws the question. */
  readonly ask: (selection: KindSelection, applicant: Applicant) => () => void
  readonly trouble: (detail: string) => void
}

export const grantedSource = ({ caches, ask, trouble }: GrantedSourceOptions): CacheSource => ({
  hasManagedFields: false,
  open: (selection): OpenCache => {
    const kind = formatGvk(selection.kind.gvk)
    let acquired: Acquired | undefined
    let resolveSynced: () => void = () => undefined
    let resolveLost: () => void = () => undefined
    const synced = new Promise<void>((resolve) => {
      resolveSynced = resolve
    })
    const lost = new Promise<void>((resolve) => {
      resolveLost = resolve
    })
    const close = (): void => {
      withdraw()
      acquired?.release()
      acquired = undefined
    }
    const withdraw = ask(selection, {
      granted: () => {
        acquired ??= caches.acquire(selection)
        void acquired.synced.then(resolveSynced)
      },
      refused: (problem) => {
        if (acquired === undefined) return trouble(`waiting for the right to watch ${kind}: ${problem}`)
        trouble(
          `the right to watch ${kind} was taken away, so its controllers stop until it is there again: ${problem}`,
        )
        close()
        resolveLost()
      },
    })
    return {
      get cache() {
        return acquired?.cache
      },
      synced,
      lost,
      close,
    }
  },
})
