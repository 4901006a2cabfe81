/** Every change of the object in the window, newest first. Choosing one moves the cursor to it. */

import { useEffect, useRef, useState } from "preact/hooks"
import type { ObjectChange } from "../source/source.ts"
import { visible } from "../text/shown-text.ts"
import { momentText, type Zone } from "../timeline/axis.ts"
import { FieldList } from "./field-change.tsx"
import { authorLines, changeWord, managersText } from "./field-text.ts"

/** Changes that are drawn at once: an object may have thousands. */
const step = 60

interface ChangesViewProps {
  /** Oldest first. */
  readonly changes: ReadonlyArray<ObjectChange>
  readonly cursor: number | undefined
  readonly zone: Zone
  readonly onChoose: (time: number) => void
}

export const ChangesView = ({ changes, cursor, zone, onChoose }: ChangesViewProps) => {
  const current = cursor === undefined ? -1 : changes.findLastIndex(({ time }) => time <= cursor)
  const [older, setOlder] = useState(step)
  const chosen = useRef<HTMLLIElement>(null)
  useEffect(() => chosen.current?.scrollIntoView({ block: "nearest" }), [current])
  const place = current < 0 ? 0 : changes.length - 1 - current
  const most = Math.max(older, place + step)
  const shown = changes.slice(Math.max(0, changes.length - most)).reverse()
  if (changes.length === 0) return null
  return (
    <>
      <ol class="changes">
        {shown.map((change, index) => {
          const isCurrent = changes.length - 1 - index === current
          return (
            <li
              key={`${change.object.uid} ${change.sequence}`}
              ref={isCurrent ? chosen : null}
              class={isCurrent ? "chosen" : ""}
              aria-current={isCurrent ? "true" : undefined}
            >
              <ChangeHead change={change} zone={zone} onChoose={onChoose} />
              <FieldList fields={change.differences} hasMore={change.hasMoreDifferences} />
            </li>
          )
        })}
      </ol>
      {shown.length < changes.length && (
        <button type="button" class="more" onClick={() => setOlder(most + 200)}>
          {`${changes.length - shown.length} older changes`}
        </button>
      )}
    </>
  )
}

type ChangeHeadProps = Pick<ChangesViewProps, "zone" | "onChoose"> & { readonly change: ObjectChange }

const ChangeHead = ({ change, zone, onChoose }: ChangeHeadProps) => {
  const { time, type, author, managers, resourceVersion } = change
  const by = managersText(managers)
  const moment = momentText(zone, time)
  return (
    <div class="change-head">
      <button
        type="button"
        class="time"
        title={`${moment}, version ${visible(resourceVersion, 40)}`}
        onClick={() => onChoose(time)}
      >
        {moment.slice(11)}
      </button>
      <span class={`type ${type}`}>{changeWord(change)}</span>
      {author === undefined ? (
        <span class="by quiet">{by === "" ? "" : by}</span>
      ) : (
        <details class="by">
          <summary>{visible(author.user)}</summary>
          <dl>
            {[...authorLines(author), ...(by === "" ? [] : [["manager", by] as const])].map(([label, text]) => (
              <div key={label}>
                <dt>{label}</dt>
                <dd>{text}</dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </div>
  )
}
