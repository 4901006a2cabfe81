/** The line at the top: what is looked at, filters, and the views. */

import type { ComponentType } from "preact"
import { useEffect, useRef } from "preact/hooks"
import type { Overview } from "../source/source.ts"
import { inNamespace, type PageState, type Pane } from "../state/state.ts"
import type { Input } from "../state/updates.ts"
import { kindOf, visible } from "../text/shown-text.ts"
import { durationText, momentText, type Zone } from "../timeline/axis.ts"
import { PinnedNotice } from "./pinned-notice.tsx"

/** What chooses between clusters. */
export interface SwitchProps {
  readonly cluster: string | undefined
  readonly send: (input: Input) => void
}

interface ToolbarProps {
  readonly state: PageState
  readonly send: (input: Input) => void
  readonly zone: Zone
  readonly onZone: () => void
  readonly theme: "auto" | "light" | "dark"
  readonly onTheme: () => void
  /** In place of the name of what is looked at. */
  readonly Switch: ComponentType<SwitchProps> | undefined
}

export const Toolbar = ({ state, send, zone, onZone, theme, onTheme, Switch }: ToolbarProps) => {
  const { overview, window: span, isFollowing, found, pane, other, cursor } = state
  const toggle = (wanted: Pane) => () => send({ type: "pane", pane: pane === wanted ? "none" : wanted })
  const isExamined = found.progress >= 1
  const isLost = state.failures.has("overview")
  return (
    <header class="toolbar">
      <h1 title={overview?.name} class={Switch && "switch"}>
        {Switch ? <Switch cluster={state.cluster} send={send} /> : visible(overview?.name ?? "kubereel", 60)}
      </h1>
      <Filter state={state} send={send} overview={overview} />
      <span class="window" aria-live="off">
        {span.to > 1 && `${momentText(zone, span.from).slice(0, 19)} · ${durationText(span.to - span.from)}`}
      </span>
      <span class="space" />
      {overview?.isLive === true && (
        <button
          type="button"
          aria-pressed={isFollowing}
          class={isFollowing && !isLost ? "live on" : "live"}
          onClick={() => send({ type: "followed", isFollowing: !isFollowing })}
        >
          {isFollowing ? (isLost ? "Not live: asking again…" : "Live") : "Follow"}
        </button>
      )}
      <button
        type="button"
        aria-pressed={pane === "findings"}
        class={found.findings.length > 0 ? "alarming" : ""}
        onClick={toggle("findings")}
      >
        {`What went wrong${isExamined || found.findings.length > 0 ? ` (${found.findings.length}${isExamined ? "" : "…"})` : "…"}`}
      </button>
      <button
        type="button"
        aria-pressed={pane === "differences"}
        disabled={cursor === undefined || other === undefined}
        title="between the two cursors; Shift-click sets the second one"
        onClick={toggle("differences")}
      >
        Differences
      </button>
      {state.pins !== undefined && (
        <button type="button" aria-pressed={pane === "pins"} title="windows that are kept" onClick={toggle("pins")}>
          {state.pins.length === 0 ? "Pin" : `Pins (${state.pins.length})`}
        </button>
      )}
      <button type="button" onClick={() => overview !== undefined && send({ type: "window", span: overview.span })}>
        Whole
      </button>
      <button type="button" title="the zone in which times are shown" onClick={onZone}>
        {zone.isUtc ? "UTC" : "Local"}
      </button>
      <button type="button" title="colours" aria-label={`colours: ${theme}`} onClick={onTheme}>
        {theme === "auto" ? "◐" : theme === "light" ? "☀" : "☾"}
      </button>
      <button
        type="button"
        aria-label="keys and colours explained"
        onClick={() => send({ type: "help", isShown: true })}
      >
        ?
      </button>
      {overview?.pin !== undefined && <PinnedNotice pin={overview.pin} send={send} zone={zone} />}
    </header>
  )
}

/** One that the list does not have may be written, too: who may read one namespace only is not told which there are. */
const Namespace = ({ state, send }: Pick<ToolbarProps, "state" | "send">) => {
  const { filter, lists } = state
  return (
    <>
      <input
        type="search"
        class="namespace"
        list="namespaces"
        aria-label="namespace"
        placeholder="namespace"
        autocomplete="off"
        value={filter.namespace ?? ""}
        onChange={({ currentTarget: { value } }) => send({ type: "filtered", filter: inNamespace(filter, value) })}
      />
      <datalist id="namespaces">
        {[...(lists.get("")?.lanes.values() ?? [])].map(({ id, object: { name } }) => (
          <option key={id} value={name} />
        ))}
      </datalist>
    </>
  )
}

const Filter = ({
  state,
  send,
  overview,
}: Pick<ToolbarProps, "state" | "send"> & { readonly overview: Overview | undefined }) => {
  const input = useRef<HTMLInputElement>(null)
  const { filter, isTyping } = state
  const typing = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => {
    if (isTyping) input.current?.focus()
    else if (document.activeElement === input.current) input.current?.blur()
  }, [isTyping])
  const apply = (find: string): void => {
    const { find: _, ...others } = filter
    send({ type: "filtered", filter: { ...others, ...(find !== "" && { find }) } })
  }
  const [kind = ""] = filter.kinds ?? []
  return (
    <search class="filter">
      <input
        ref={input}
        type="search"
        aria-label="a part of a name"
        placeholder="Filter by name ( / )"
        value={filter.find ?? ""}
        onFocus={() => send({ type: "typing", isTyping: true })}
        onBlur={() => send({ type: "typing", isTyping: false })}
        onInput={({ currentTarget }) => {
          clearTimeout(typing.current)
          typing.current = setTimeout(() => apply(currentTarget.value), 200)
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" || event.key === "Escape") event.currentTarget.blur()
          event.stopPropagation()
        }}
      />
      <Namespace state={state} send={send} />
      <select
        aria-label="kinds"
        value={kind}
        onChange={({ currentTarget: { value } }) => {
          const { kinds: _, ...others } = filter
          send({ type: "filtered", filter: { ...others, ...(value !== "" && { kinds: [value] }) } })
        }}
      >
        <option value="">all kinds</option>
        {overview?.kinds.map(({ gvk }) => (
          <option key={gvk} value={gvk}>
            {visible(kindOf(gvk), 60)}
          </option>
        ))}
      </select>
    </search>
  )
}
