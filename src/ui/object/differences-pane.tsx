/** What differs between the two cursors: objects by kind, with their fields. */

import { useState } from "preact/hooks"
import type { PaneProps } from "../shell/pane.ts"
import type { FieldChange, HistorySource, Manager } from "../source/source.ts"
import { kindOf, visible } from "../text/shown-text.ts"
import { durationText, momentText } from "../timeline/axis.ts"
import { LeftOutNote } from "../timeline/left-out-note.tsx"
import { useAsked } from "./asked.ts"
import { Failed } from "./failed.tsx"
import { FieldList } from "./field-change.tsx"
import { managersText } from "./field-text.ts"

type Difference = Parameters<Parameters<HistorySource["differences"]>[1]>[0]

/** Objects of one kind that are drawn at once. */
const mostObjects = 100

const none: ReadonlyArray<Difference> = []

export const DifferencesPane = ({ source, state, send, zone }: PaneProps) => {
  const [find, setFind] = useState("")
  const { cursor, other, filter } = state
  const has = cursor !== undefined && other !== undefined && cursor !== other
  const [from, to] = has ? [Math.min(cursor, other), Math.max(cursor, other)] : [0, 0]
  const { value, isDone, failure, again } = useAsked(
    { state, send },
    {
      key: has ? JSON.stringify([from, to, filter]) : "",
      empty: none,
      run: async (publish, signal) => {
        const found: Difference[] = []
        const each = (difference: Difference): void => {
          found.push(difference)
          publish(found)
        }
        await source.differences({ ...filter, from, to }, each, signal)
        publish([...found])
      },
    },
  )
  if (!has) return <p class="empty">Set two cursors: click in the time line, then click elsewhere with Shift held.</p>
  const wanted = find.toLowerCase()
  const shown = value.filter((each) => wanted === "" || searched(each).includes(wanted))
  const kinds = [...new Set(shown.map(({ object }) => object.gvk))].sort()
  return (
    <section class="differences" aria-label="differences">
      <header>
        <h2>What differs</h2>
        <p class="quiet">
          {momentText(zone, from)} → {momentText(zone, to)} · {durationText(to - from)}
        </p>
        <input
          type="search"
          aria-label="find in the differences"
          placeholder="name, field or value"
          value={find}
          onInput={({ currentTarget }) => setFind(currentTarget.value)}
        />
        <LeftOutNote state={state} />
        {failure !== undefined && <Failed {...{ failure, again }} />}
        {!isDone && <p class="quiet">Reading…</p>}
        {isDone && failure === undefined && shown.length === 0 && <p class="note">Nothing differs.</p>}
      </header>
      {kinds.map((gvk) => (
        <Kind
          key={gvk}
          gvk={gvk}
          differences={shown.filter(({ object }) => object.gvk === gvk)}
          onOpen={({ object }) => send({ type: "opened", object: { ...object, uid: "" }, time: to })}
        />
      ))}
    </section>
  )
}

const searched = ({ object, differences }: Difference): string =>
  `${object.namespace}/${object.name} ${differences.map(fieldSearched).join(" ")}`.toLowerCase()

const fieldSearched = ({ path, before, after }: FieldChange): string =>
  `${path} ${JSON.stringify(before) ?? ""} ${JSON.stringify(after) ?? ""}`

interface KindProps {
  readonly gvk: string
  readonly differences: ReadonlyArray<Difference>
  readonly onOpen?: (difference: Difference) => void
}

const Kind = ({ gvk, differences, onOpen }: KindProps) => {
  const [most, setMost] = useState(mostObjects)
  return (
    <section aria-label={visible(gvk)}>
      <h3>
        {kindOf(gvk)} <span class="quiet">{differences.length}</span>
      </h3>
      <ul class="objects">
        {differences.slice(0, most).map((each) => (
          <li key={`${each.object.namespace}/${each.object.name}`}>
            <span class={`type ${each.type}`}>{each.type}</span>{" "}
            <button type="button" class="link" onClick={() => onOpen?.(each)}>
              {each.object.namespace !== "" && <span class="quiet">{visible(each.object.namespace)}/</span>}
              {visible(each.object.name)}
            </button>
            <By managers={each.managers} />
            <FieldList fields={each.differences} />
          </li>
        ))}
      </ul>
      {differences.length > most && (
        <button type="button" class="more" onClick={() => setMost(most + 500)}>
          {`${differences.length - most} more`}
        </button>
      )}
    </section>
  )
}

const By = ({ managers }: { readonly managers: ReadonlyArray<Manager> }) => {
  const by = managersText(managers)
  return by === "" ? null : <span class="quiet">{` · ${by}`}</span>
}
