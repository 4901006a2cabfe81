/**
 * What a pane asks the source for: kept as long as the question is the same, given up with it. What failed is asked again: when the pane says so, when the
 * cursor moves, by itself after a moment if the server was busy or out of reach, and once a token is given.
 */

import { useEffect, useState } from "preact/hooks"
import { type PaneProps, paneQuestion } from "../shell/pane.ts"
import { SourceError } from "../source/source.ts"

interface Answer<Value> {
  readonly value: Value
  readonly isDone: boolean
  readonly failure?: SourceError
}

interface Asked<Value> extends Answer<Value> {
  readonly again: () => void
}

/** ms between two drawings of an answer that is still coming. */
const drawMs = 150

/** ms until the server is asked again that was busy, or out of reach. */
const againMs = 2000

interface PaneQuestion<Value> {
  /** Questions with the same key have the same answer; empty: nothing is asked. */
  readonly key: string
  /** While it is the same, the answer to the question before is shown until the new one is complete. Default: the key. */
  readonly subject?: string
  readonly empty: Value
  /** May call `publish` as often as it likes. */
  readonly run: (publish: (value: Value) => void, signal: AbortSignal) => Promise<void>
}

export const useAsked = <Value>(
  { state, send }: Pick<PaneProps, "state" | "send">,
  { key, subject = key, empty, run }: PaneQuestion<Value>,
): Asked<Value> => {
  const [asked, setAsked] = useState<Answer<Value> & { readonly subject: string }>({
    ...{ subject: "", value: empty, isDone: false },
  })
  const [times, setTimes] = useState(0)
  const again = (): void => setTimes((count) => count + 1)
  const known = asked.subject === subject ? asked : undefined
  const hasFailed = known?.failure !== undefined
  const isRefused = state.failures.has(paneQuestion)
  useEffect(() => {
    if (key === "") return
    const controller = new AbortController()
    const { signal } = controller
    const isKept = known?.isDone === true && !hasFailed
    let latest = empty
    let timer: ReturnType<typeof setTimeout> | undefined
    let waiting: ReturnType<typeof setTimeout> | undefined
    const draw = (answer: Answer<Value>): void => {
      clearTimeout(timer)
      timer = undefined
      if (!signal.aborted) setAsked({ subject, ...answer })
    }
    const publish = (value: Value): void => {
      latest = value
      if (!isKept) timer ??= setTimeout(() => draw({ value: latest, isDone: false }), drawMs)
    }
    run(publish, signal).then(
      () => draw({ value: latest, isDone: true }),
      (error: unknown) => {
        if (signal.aborted) return
        const failure = error instanceof SourceError ? error : new SourceError("failed", String(error))
        const { code, message } = failure
        draw({ value: isKept ? known.value : latest, isDone: true, failure })
        if (code === "failed" || code === "busy") waiting = setTimeout(again, againMs)
        if (code === "unauthorized") send({ type: "failed", about: paneQuestion, failure: { code, message } })
      },
    )
    return () => {
      controller.abort()
      clearTimeout(timer)
      clearTimeout(waiting)
    }
  }, [key, times])
  useEffect(() => {
    if (hasFailed && !isRefused) again()
  }, [state.cursor, isRefused])
  const { value, isDone, failure } = known ?? { value: empty, isDone: key === "" }
  return { value, isDone, ...(failure && { failure }), again }
}
