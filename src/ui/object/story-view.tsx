/** What explains the object: its Events, conditions, containers and the changes of its owners on one axis, and as a list. */

import { useState } from "preact/hooks"
import { type FactSort, tones } from "../../timeline/index.ts"
import type { Span } from "../source/source.ts"
import { kindOf, visible } from "../text/shown-text.ts"
import { momentText, type Zone } from "../timeline/axis.ts"
import { FieldList } from "./field-change.tsx"
import { writerText } from "./field-text.ts"
import type { Fact } from "./why.ts"

interface StoryViewProps {
  readonly facts: ReadonlyArray<Fact>
  readonly span: Span
  readonly cursor: number | undefined
  readonly zone: Zone
  readonly onChoose: (time: number) => void
}

const sorts: ReadonlyArray<readonly [FactSort, string]> = [
  ["change", "changes"],
  ["condition", "conditions"],
  ["container", "containers"],
  ["event", "Events"],
]

/** Facts that are drawn at once. */
const step = 200

const toneClass = (fact: Pick<Fact, "tone">): string =>
  Object.entries(tones).find(([, tone]) => tone === fact.tone)?.[0] ?? "plain"

export const StoryView = ({ facts, span, cursor, zone, onChoose }: StoryViewProps) => {
  const [left, setLeft] = useState<ReadonlySet<FactSort>>(new Set())
  const [most, setMost] = useState(step)
  const shown = facts.filter(({ sort }) => !left.has(sort))
  const toggle = (sort: FactSort): void => {
    const next = new Set(left)
    if (!next.delete(sort)) next.add(sort)
    setLeft(next)
  }
  const current = cursor === undefined ? -1 : shown.findLastIndex(({ time }) => time <= cursor)
  const listed = shown.slice(-most)
  const omitted = shown.length - listed.length
  if (facts.length === 0) return <p class="note">Nothing in this window explains it. Look at a longer one.</p>
  return (
    <div class="story">
      <Marks {...{ span, cursor, onChoose }} facts={shown} />
      <fieldset class="choices">
        <legend class="hidden">what is listed</legend>
        {sorts.map(([sort, label]) => {
          const count = facts.filter((fact) => fact.sort === sort).length
          return count === 0 ? null : (
            <button key={sort} type="button" aria-pressed={!left.has(sort)} onClick={() => toggle(sort)}>
              {label} <span class="quiet">{count}</span>
            </button>
          )
        })}
      </fieldset>
      {omitted > 0 && (
        <button type="button" class="more" onClick={() => setMost(most + step)}>
          {`${omitted} earlier`}
        </button>
      )}
      <ol class="facts">
        {listed.map((fact, index) => (
          <li key={index} class={`${toneClass(fact)}${index + omitted === current ? " chosen" : ""}`}>
            <FactLine {...{ fact, zone, onChoose }} />
          </li>
        ))}
      </ol>
    </div>
  )
}

type FactLineProps = Pick<StoryViewProps, "zone" | "onChoose"> & { readonly fact: Fact }

const FactLine = ({ fact, zone, onChoose }: FactLineProps) => {
  const { time, text, isOwn, fields, change, isWritten } = fact
  const { object } = change
  // Who asked for a deletion is not among those who wrote the object.
  const by = isWritten === false ? "" : writerText(isWritten === "deletion" ? { ...change, managers: [] } : change)
  return (
    <>
      <button type="button" class="time" title={momentText(zone, time)} onClick={() => onChoose(time)}>
        {momentText(zone, time).slice(11)}
      </button>
      <span class="said">
        {!isOwn && <b>{`${kindOf(object.gvk)} ${visible(object.name)} `}</b>}
        {visible(text, 600)}
        {by !== "" && <span class="quiet">{` by ${by}`}</span>}
        <FieldList fields={fields} />
      </span>
    </>
  )
}

/** A row for each sort: where on the axis something happened. */
const Marks = ({ facts, span, cursor, onChoose }: Omit<StoryViewProps, "zone">) => {
  const rows = sorts.filter(([sort]) => facts.some((fact) => fact.sort === sort))
  const length = Math.max(1, span.to - span.from)
  const placeOf = (time: number): number => Math.max(0, Math.min(1000, ((time - span.from) / length) * 1000))
  const press = (event: MouseEvent & { readonly currentTarget: SVGSVGElement }): void => {
    const box = event.currentTarget.getBoundingClientRect()
    if (box.width > 0) onChoose(Math.round(span.from + ((event.clientX - box.left) / box.width) * length))
  }
  return (
    <div class="marks">
      <div class="mark-labels" aria-hidden="true">
        {rows.map(([sort, label]) => (
          <span key={sort}>{label}</span>
        ))}
      </div>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the keys of the page move the cursor */}
      <svg
        class={`rows-${rows.length}`}
        viewBox={`0 0 1000 ${rows.length * 10}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${facts.length} facts on one axis; they are listed below`}
        onClick={press}
      >
        {rows.map(([sort], row) => (
          <g key={sort}>
            <path class="rule" d={`M0 ${row * 10 + 5}H1000`} />
            {(["plain", "over", "good", "waiting", "bad"] as const).map((name) => (
              <path
                key={name}
                class={`mark ${name}`}
                d={facts
                  .filter((fact) => fact.sort === sort && toneClass(fact) === name)
                  .map(({ time }) => `M${placeOf(time).toFixed(1)} ${row * 10 + 2}v6`)
                  .join("")}
              />
            ))}
          </g>
        ))}
        {cursor !== undefined && <path class="at" d={`M${placeOf(cursor)} 0V${rows.length * 10}`} />}
      </svg>
    </div>
  )
}
