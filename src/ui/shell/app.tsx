/** The page: the state, what asks for it to be filled, and the parts that show it. */

import type { ComponentType } from "preact"
import { useEffect, useMemo, useReducer, useRef, useState } from "preact/hooks"
import type { HistorySource } from "../source/source.ts"
import { linkOf } from "../state/permalink.ts"
import { firstState, type PageState, type Pane } from "../state/state.ts"
import { type Input, updated } from "../state/updates.ts"
import { visible } from "../text/shown-text.ts"
import { momentText } from "../timeline/axis.ts"
import { useScheme } from "../timeline/scheme.ts"
import { TimeLine } from "../timeline/time-line.tsx"
import { Asking } from "./asking.ts"
import { Help } from "./help.tsx"
import { type PaneProps, paneQuestion } from "./pane.ts"
import { TokenDialog } from "./token-dialog.tsx"
import { type SwitchProps, Toolbar } from "./toolbar.tsx"

interface AppProps {
  /** The same one for the same cluster; `undefined`: none is chosen yet. */
  readonly sourceOf: (cluster: string | undefined) => HistorySource | undefined
  /** Where there are several clusters. */
  readonly Switch?: ComponentType<SwitchProps>
  readonly panes: Readonly<Partial<Record<Exclude<Pane, "none">, ComponentType<PaneProps>>>>
  readonly onToken: (token: string) => void
}

const themes = ["auto", "light", "dark"] as const

/** `auto` follows the system, whose changes redraw what is on a canvas. */
const useTheme = () => {
  const [theme, setTheme] = useState<(typeof themes)[number]>("auto")
  const scheme = useScheme(theme)
  const next = (): void => setTheme(themes[(themes.indexOf(theme) + 1) % themes.length] ?? "auto")
  return { theme, next, scheme }
}

/** The keys of the page, except where something is typed or a control has them for itself. */
const useKeys = (send: (input: Input) => void): void => {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey) return
      const target = event.target instanceof Element ? event.target : undefined
      if (target?.closest("input, select, textarea, dialog form") != null) return
      const isControl = target?.closest("button, a, [role=tab], summary, [data-keys]") != null
      if (isControl && /^(?:Enter| |Arrow.*|Page.*|Home|End)$/.test(event.key)) return
      if (event.key === "Tab" || event.key === "Shift") return
      if (/^(?:Arrow|Page|Home|End|[/' ])/.test(event.key)) event.preventDefault()
      send({ type: "key", key: event.key, isShifted: event.shiftKey })
    }
    addEventListener("keydown", onKey)
    return () => removeEventListener("keydown", onKey)
  }, [])
}

/** Keeps the address and the state the same, both ways. */
const useLink = (state: PageState, send: (input: Input) => void): void => {
  const written = useRef("")
  useEffect(() => {
    const onLink = (): void => {
      if (location.hash.slice(1) !== written.current) send({ type: "link", link: location.hash })
    }
    addEventListener("hashchange", onLink)
    return () => removeEventListener("hashchange", onLink)
  }, [])
  // Not of each moment while the window is dragged: browsers limit how often the address may change.
  const link = state.overview === undefined ? undefined : linkOf({ ...state, window: state.settled })
  useEffect(() => {
    if (link === undefined || link === written.current) return
    written.current = link
    history.replaceState(null, "", link === "" ? location.pathname + location.search : `#${link}`)
  }, [link])
}

const begin = (): PageState =>
  location.hash.length > 1 ? updated(firstState, { type: "link", link: location.hash }) : firstState

export const App = ({ sourceOf, Switch, panes, onToken }: AppProps) => {
  const [state, send] = useReducer(updated, undefined, begin)
  const { theme, next, scheme } = useTheme()
  const [isUtc, setUtc] = useState(true)
  const zone = useMemo(() => ({ isUtc }), [isUtc])
  const { cluster } = state
  const source = useMemo(() => sourceOf(cluster), [sourceOf, cluster])
  const asking = useMemo(() => {
    const surroundings = { later: laterIn, isHidden: () => document.hidden }
    return (
      source && new Asking(source, { ...surroundings, send: (answer) => send({ type: "answered", cluster, answer }) })
    )
  }, [source])
  useEffect(() => asking?.follow(state), [state, asking])
  useEffect(() => () => asking?.close(), [asking])
  useKeys(send)
  useLink(state, send)
  useTitle(state)
  const unauthorized = [...state.failures.values()].find(({ code }) => code === "unauthorized")
  const Shown = state.pane === "none" ? undefined : panes[state.pane]
  const { window: _, top, lists, tiles, row, ...concerned } = state
  // A pane that nothing concerns is left alone: while the window is dragged, there is a new state for each frame.
  const shown = useMemo(
    () => Shown && source && <Shown key={cluster} {...{ source, state, send, zone }} />,
    [Shown, source, zone, ...Object.values(concerned)],
  )
  return (
    <div class={`app ${Shown === undefined ? "" : "with-pane"}`}>
      <Toolbar {...{ state, send, zone, theme, Switch }} onZone={() => setUtc(!isUtc)} onTheme={next} />
      <Failures state={state} />
      <p class="print-only">
        {`${state.overview?.name ?? ""}: ${momentText(zone, state.window.from)} to ${momentText(zone, state.window.to)} ${isUtc ? "UTC" : ""}`}
      </p>
      <main>
        {state.overview === undefined ? <Starting state={state} /> : <TimeLine {...{ state, send, zone, scheme }} />}
        {Shown !== undefined && (
          <aside class="pane" aria-label={state.pane}>
            <button type="button" class="close" aria-label="close" onClick={() => send({ type: "pane", pane: "none" })}>
              ✕
            </button>
            {shown}
          </aside>
        )}
      </main>
      {state.isHelpShown && <Help onClose={() => send({ type: "help", isShown: false })} />}
      {unauthorized !== undefined && (
        <TokenDialog
          message={visible(unauthorized.message, 500)}
          onToken={(token) => {
            onToken(token)
            send({ type: "failed", about: paneQuestion, failure: undefined })
            asking?.retry()
          }}
        />
      )}
    </div>
  )
}

const laterIn = (milliseconds: number, run: () => void): (() => void) => {
  const timer = setTimeout(run, milliseconds)
  return () => clearTimeout(timer)
}

const useTitle = ({ overview, selection }: PageState): void => {
  const title = [selection && visible(selection.object.name, 80), overview && visible(overview.name, 80), "kubereel"]
  const text = title.filter((each) => each !== undefined).join(" · ")
  useEffect(() => {
    document.title = text
  }, [text])
}

const Starting = ({ state }: { readonly state: PageState }) => (
  <p class="starting" role="status">
    {state.failures.size === 0 ? "Reading what is recorded…" : ""}
  </p>
)

const Failures = ({ state }: { readonly state: PageState }) => {
  const texts = new Set(
    [...state.failures.values()].filter(({ code }) => code !== "unauthorized").map(({ message }) => message),
  )
  if (texts.size === 0) return null
  return (
    <div class="failures" role="alert">
      {[...texts].map((text) => (
        <p key={text}>{visible(text, 500)}</p>
      ))}
    </div>
  )
}
