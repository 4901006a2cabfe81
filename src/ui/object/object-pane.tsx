/** One object: what it is, how it is, and everything that is known of it in the window. */

import { useEffect, useMemo, useState } from "preact/hooks"
import { healthOf, type Lack, type LaneObject, tones } from "../../timeline/index.ts"
import type { PaneProps } from "../shell/pane.ts"
import type { ObjectChange, Span } from "../source/source.ts"
import type { PageState } from "../state/state.ts"
import { kindOf, visible } from "../text/shown-text.ts"
import { momentText, type Zone } from "../timeline/axis.ts"
import { useAsked } from "./asked.ts"
import { ChangesView } from "./changes-view.tsx"
import { Failed } from "./failed.tsx"
import { FamilyView } from "./family-view.tsx"
import { FieldList } from "./field-change.tsx"
import { writerText } from "./field-text.ts"
import { NumbersView } from "./numbers-view.tsx"
import { StoryView } from "./story-view.tsx"
import { type Fact, factsOf, sentences } from "./why.ts"
import { YamlView } from "./yaml-view.tsx"

const tabs = [
  ["why", "Why"],
  ["changes", "Changes"],
  ["yaml", "YAML"],
  ["owners", "Owners"],
  ["numbers", "Numbers"],
] as const

type Tab = (typeof tabs)[number][0]

/** µs: while the window follows the present, the object is asked about this often. */
const askedAgain = 10_000_000

/** What is asked for: a window that moves with the present is not asked about every second anew, but up to the present each time. */
const useAskedSpan = ({ settled, isFollowing }: PageState): Span => {
  const [from, to] = isFollowing
    ? [settled.to - settled.from, Math.floor(settled.to / askedAgain)]
    : [settled.from, settled.to]
  return useMemo(() => settled, [isFollowing, from, to])
}

interface History {
  readonly changes: ReadonlyArray<ObjectChange>
  readonly lacks: ReadonlyArray<Lack>
}

const noHistory: History = { changes: [], lacks: [] }

const useHistory = (pane: PaneProps, object: LaneObject, span: Span, isWhole: boolean) =>
  useAsked(pane, {
    key: JSON.stringify([object, span, isWhole]),
    subject: JSON.stringify([object, pane.state.isFollowing ? "now" : span, isWhole]),
    empty: noHistory,
    run: async (publish, signal) => {
      const changes: ObjectChange[] = []
      const asked = { ...span, object, owned: false, owners: isWhole, withStates: isWhole }
      const each = (change: ObjectChange): void => {
        changes.push(change)
        publish({ changes, lacks: [] })
      }
      const { lacks } = await pane.source.changes(asked, each, signal)
      publish({ changes: [...changes], lacks })
    },
  })

type State = Readonly<Record<string, unknown>>

interface Moment {
  readonly state?: State
  /** Of the last change until then. */
  readonly time?: number
  readonly before?: State
}

const noMoment: Moment = {}

const useMoment = (pane: PaneProps, object: LaneObject, time: number) =>
  useAsked(pane, {
    key: JSON.stringify([object, time]),
    subject: JSON.stringify([object, pane.state.cursor ?? "now"]),
    empty: noMoment,
    run: async (publish, signal) => {
      const found = await pane.source.stateAt(object, time, signal)
      if (found === undefined) return
      publish(found)
      const before = await pane.source.stateAt(object, found.time - 1, signal)
      if (before !== undefined) publish({ ...found, before: before.state })
    },
  })

export const ObjectPane = ({ source, state, send, zone }: PaneProps) => {
  const { selection } = state
  if (selection === undefined) return <p class="empty">Choose an object in the time line.</p>
  const { object } = selection
  return <Shown key={JSON.stringify(object)} {...{ source, state, send, zone, object }} />
}

const Shown = ({ source, state, send, zone, object }: PaneProps & { readonly object: LaneObject }) => {
  const [tab, setTab] = useState<Tab>("why")
  const span = useAskedSpan(state)
  const time = state.cursor ?? span.to
  const pane = { source, state, send, zone }
  const own = useHistory(pane, object, span, false)
  const whole = useHistory(pane, object, span, true)
  const moment = useMoment(pane, object, time)
  const { changes } = own.value
  const facts = useMemo(() => factsOf(object, whole.value.changes), [whole.value, whole.isDone])
  useEffect(() => send({ type: "changes", changes }), [own.value])
  const onChoose = (chosen: number): void => send({ type: "cursor", time: chosen })
  const failed = [own, whole, moment].filter(({ failure }) => failure !== undefined)
  const failure = failed[0]?.failure
  const again = (): void => {
    for (const each of failed) each.again()
  }
  const view = { span, cursor: state.cursor, zone, onChoose }
  return (
    <section class="object" aria-label={`${kindOf(object.gvk)} ${visible(object.name)}`}>
      <Head
        {...{ object, zone, time, facts }}
        moment={moment.value}
        isDone={moment.isDone}
        changes={changes}
        onChoose={onChoose}
      />
      <Tabs tab={tab} onTab={setTab} counts={{ changes: changes.length, why: facts.length }} />
      {failure !== undefined && <Failed {...{ failure, again }} />}
      {own.value.lacks.length > 0 && <Lacks lacks={own.value.lacks} />}
      <div role="tabpanel" aria-label={tab}>
        {tab === "why" && (whole.isDone || facts.length > 0 ? <StoryView facts={facts} {...view} /> : <Reading />)}
        {tab === "changes" && <ChangesView changes={changes} {...view} />}
        {tab === "changes" &&
          changes.length === 0 &&
          (own.isDone ? <p class="note">It did not change in this window.</p> : <Reading />)}
        {tab === "yaml" && <Yaml moment={moment.value} isDone={moment.isDone} />}
        {tab === "owners" && (
          <FamilyView {...{ pane, object, span, time }} onOpen={(other) => send({ type: "opened", object: other })} />
        )}
        {tab === "numbers" && (own.isDone ? <NumbersView changes={changes} {...view} /> : <Reading />)}
      </div>
    </section>
  )
}

const Reading = () => (
  <p class="note" role="status">
    Reading…
  </p>
)

const Yaml = ({ moment, isDone }: { readonly moment: Moment; readonly isDone: boolean }) => {
  if (moment.state !== undefined) return <YamlView state={moment.state} before={moment.before} />
  return isDone ? <p class="note">It does not exist at this moment.</p> : <Reading />
}

const Lacks = ({ lacks }: { readonly lacks: ReadonlyArray<Lack> }) => (
  <ul class="note warn">
    {[...new Set(lacks.map(({ gvk, why }) => `${kindOf(gvk)}: ${why}`))].slice(0, 5).map((text) => (
      <li key={text}>{visible(text)}</li>
    ))}
  </ul>
)

interface TabsProps {
  readonly tab: Tab
  readonly onTab: (tab: Tab) => void
  readonly counts: Readonly<Partial<Record<Tab, number>>>
}

/** Arrows go from tab to tab, as in every list of tabs. */
const Tabs = ({ tab, onTab, counts }: TabsProps) => {
  const onKeyDown = (event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0
    const next = tabs[(tabs.findIndex(([name]) => name === tab) + by + tabs.length) % tabs.length]
    if (by === 0 || next === undefined) return
    onTab(next[0])
    event.currentTarget.querySelectorAll("button").item(tabs.indexOf(next)).focus()
  }
  return (
    <div class="tabs" role="tablist" onKeyDown={onKeyDown}>
      {tabs.map(([name, label]) => (
        <button
          key={name}
          type="button"
          role="tab"
          aria-selected={tab === name}
          tabIndex={tab === name ? 0 : -1}
          onClick={() => onTab(name)}
        >
          {label}
          {(counts[name] ?? 0) > 0 && <span class="quiet">{` ${counts[name]}`}</span>}
        </button>
      ))}
    </div>
  )
}

interface HeadProps {
  readonly object: LaneObject
  readonly zone: Zone
  readonly time: number
  readonly facts: ReadonlyArray<Fact>
  readonly moment: Moment
  readonly isDone: boolean
  readonly changes: ReadonlyArray<ObjectChange>
  readonly onChoose: (time: number) => void
}

const toneWord = (gvk: string, state: State | undefined): string => {
  if (state === undefined) return "absent"
  const { tone } = healthOf(gvk, state)
  return Object.entries(tones).find(([, each]) => each === tone)?.[0] ?? "plain"
}

const toneLabels: Readonly<Record<string, string>> = {
  ...{ good: "good", bad: "bad", waiting: "on its way", over: "done", absent: "absent", plain: "exists" },
}

const Head = ({ object, zone, time, facts, moment, isDone, changes, onChoose }: HeadProps) => {
  const { gvk, namespace, name } = object
  const tone = toneWord(gvk, moment.state)
  const end = changes.findLast(({ type }) => type === "deleted" || type === "vanished")
  const created = createdIn(moment.state)
  const life = [
    created === undefined ? "" : `exists since ${momentText(zone, created).slice(0, 19)}`,
    end === undefined
      ? ""
      : `${end.type === "deleted" ? "deleted" : "gone"} at ${momentText(zone, end.time).slice(0, 19)}`,
  ].filter((text) => text !== "")
  return (
    <header>
      <h2>
        <span class="kind" title={visible(gvk)}>
          {kindOf(gvk)}
        </span>{" "}
        {namespace !== "" && <span class="quiet">{visible(namespace)}/</span>}
        <wbr />
        {visible(name)}
      </h2>
      <p class="life">
        {isDone && <span class={`badge ${tone}`}>{toneLabels[tone] ?? tone}</span>}{" "}
        <span class="quiet">at {momentText(zone, time)}</span>
        {life.length > 0 && <span class="quiet">{` · ${life.join(" · ")}`}</span>}
      </p>
      {isDone && (
        <ul class="sentences">
          {sentences(object, moment.state, facts, time).map(({ text, tone: each, fact }) => (
            <li key={text} class={each === tones.bad ? "bad" : ""}>
              {visible(text, 500)}
              {fact !== undefined && (
                <>
                  {" "}
                  <button type="button" class="time" onClick={() => onChoose(fact.time)}>
                    {momentText(zone, fact.time).slice(11)}
                  </button>
                  {fact.fields.length > 0 && <span class="quiet">{` by ${writerText(fact.change) || "?"}`}</span>}
                  <FieldList fields={fact.fields.slice(0, 4)} />
                </>
              )}
            </li>
          ))}
        </ul>
      )}
    </header>
  )
}

/** µs. */
const createdIn = (state: State | undefined): number | undefined => {
  const metadata = state?.metadata
  if (typeof metadata !== "object" || metadata === null || !("creationTimestamp" in metadata)) return undefined
  const created = Date.parse(String(metadata.creationTimestamp)) * 1000
  return Number.isNaN(created) ? undefined : created
}
