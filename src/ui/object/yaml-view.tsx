/** The object at the cursor as YAML: what differs from the state before is marked; it can be searched and copied. */

import { useMemo, useRef, useState } from "preact/hooks"
import { markedLines, withoutManagedFields } from "./marked-lines.ts"

type State = Readonly<Record<string, unknown>>

interface YamlViewProps {
  readonly state: State
  readonly before: State | undefined
}

export const YamlView = ({ state, before }: YamlViewProps) => {
  const [isWhole, setWhole] = useState(false)
  const [hasRemoved, setRemoved] = useState(false)
  const [search, setSearch] = useState("")
  const [copied, setCopied] = useState("")
  const text = useRef<HTMLPreElement>(null)
  const { managed, state: short } = useMemo(() => withoutManagedFields(state), [state])
  const lines = useMemo(
    () => markedLines(isWhole ? state : short, before && (isWhole ? before : withoutManagedFields(before).state)),
    [state, before, isWhole],
  )
  const wanted = search.toLowerCase()
  const isFound = (line: string): boolean => wanted !== "" && line.toLowerCase().includes(wanted)
  const found = wanted === "" ? 0 : lines.filter((line) => line.mark !== "removed" && isFound(line.text)).length
  const removed = lines.filter(({ mark }) => mark === "removed").length
  const goOn = (): void => {
    const places = [...(text.current?.querySelectorAll(".found") ?? [])]
    const next = (places.findIndex((place) => place.classList.contains("at")) + 1) % places.length
    for (const [index, place] of places.entries()) place.classList.toggle("at", index === next)
    places[next]?.scrollIntoView({ block: "center" })
  }
  const copy = (): void => {
    const whole = lines.flatMap((line) => (line.mark === "removed" ? [] : [line.text])).join("\n")
    // The clipboard is for pages from a safe origin; elsewhere the text is selected, to be copied by hand.
    const isCopied = navigator.clipboard?.writeText(`${whole}\n`) ?? Promise.reject(new Error("no clipboard"))
    isCopied.then(
      () => setCopied("copied"),
      () => {
        if (text.current !== null) getSelection()?.selectAllChildren(text.current)
        setCopied("selected: press Ctrl+C")
      },
    )
  }
  return (
    <div class="yaml">
      <form
        class="tools"
        onSubmit={(event) => {
          event.preventDefault()
          goOn()
        }}
      >
        <input
          type="search"
          aria-label="find in the YAML"
          placeholder="find"
          value={search}
          onInput={({ currentTarget }) => setSearch(currentTarget.value)}
        />
        {wanted !== "" && <span class="quiet">{found === 1 ? "1 line" : `${found} lines`}</span>}
        <span class="space" />
        {removed > 0 && (
          <button type="button" aria-pressed={hasRemoved} onClick={() => setRemoved(!hasRemoved)}>
            {`− ${removed} removed`}
          </button>
        )}
        {managed > 0 && (
          <button type="button" aria-pressed={isWhole} onClick={() => setWhole(!isWhole)}>
            managedFields
          </button>
        )}
        <button type="button" onClick={copy}>
          copy
        </button>
        <span class="hidden" role="status">
          {copied}
        </span>
      </form>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long lines are scrolled with the keyboard */}
      <pre ref={text} tabIndex={0} data-keys>
        {lines.map((line, index) =>
          line.mark === "removed" && !hasRemoved ? null : (
            <span key={index} class={`line ${line.mark}${isFound(line.text) ? " found" : ""}`}>
              {`${line.text}\n`}
            </span>
          ),
        )}
      </pre>
    </div>
  )
}
