/** What a pane asks the source for: kept as long as the question is the same, given up with it. */

import { useEffect, useState } from "preact/hooks"
import { SourceError } from "../source/source.ts"

interface Asked<Value> {
  readonly value: Value
  readonly isDone: boolean
  /** In words. */
  readonly failure?: string
}

/** ms between two drawings of an answer that is still coming. */
const drawMs = 150

/**
 * @param key questions with the same key have the same answer; empty: nothing is asked
 * @param run may call `publish` as often as it likes
 */
export const useAsked = <Value>(
  key: string,
  empty: Value,
  run: (publish: (value: Value) => void, signal: AbortSignal) => Promise<void>,
): Asked<Value> => {
  const [asked, setAsked] = useState<Asked<Value> & { readonly key: string }>({ key: "", value: empty, isDone: false })
  useEffect(() => {
    if (key === "") return
    const controller = new AbortController()
    const { signal } = controller
    let latest = empty
    let timer: ReturnType<typeof setTimeout> | undefined
    const draw = (isDone: boolean, failure?: string): void => {
      clearTimeout(timer)
      timer = undefined
      if (!signal.aborted) setAsked({ key, value: latest, isDone, ...(failure !== undefined && { failure }) })
    }
    const publish = (value: Value): void => {
      latest = value
      timer ??= setTimeout(() => draw(false), drawMs)
    }
    run(publish, signal).then(
      () => draw(true),
      (error: unknown) => draw(true, error instanceof SourceError ? error.message : String(error)),
    )
    return () => {
      controller.abort()
      clearTimeout(timer)
    }
  }, [key])
  return asked.key === key ? asked : { value: empty, isDone: key === "" }
}
