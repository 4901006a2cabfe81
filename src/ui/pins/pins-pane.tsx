/** Windows that are kept although retention removes what is around them: one more can be pinned, and each be opened, linked to, or removed. */

import { useState } from "preact/hooks"
import type { PaneProps } from "../shell/pane.ts"
import type { Pin, PinSource, Span } from "../source/source.ts"
import type { PageState } from "../state/state.ts"
import { visible } from "../text/shown-text.ts"
import { durationText, momentText } from "../timeline/axis.ts"

/** Characters of a note, as the recorder takes them. */
const longestNote = 1024

/** What would be pinned: between the two cursors, else what is visible. */
const windowToPin = ({ cursor, other, window: span }: PageState): Span =>
  cursor === undefined || other === undefined || cursor === other
    ? span
    : { from: Math.min(cursor, other), to: Math.max(cursor, other) }

export const PinsPane = ({ source, ...props }: PaneProps) =>
  source.pins === undefined ? null : <Pins {...props} source={source.pins} />

type PinsProps = Omit<PaneProps, "source"> & { readonly source: PinSource }

const Pins = ({ source, state, send, zone }: PinsProps) => {
  const [note, setNote] = useState("")
  const [said, setSaid] = useState<{ readonly text: string; readonly isBad?: boolean }>()
  const { from, to } = windowToPin(state)
  const change = async (act: () => Promise<unknown>, done: string): Promise<void> => {
    const { signal } = new AbortController()
    try {
      await act()
      send({ type: "pins", pins: await source.list(signal) })
      setSaid({ text: done })
    } catch (error) {
      setSaid({ text: visible(error instanceof Error ? error.message : String(error), 500), isBad: true })
    }
  }
  const pins = (state.pins ?? []).toSorted((one, other) => other.from - one.from)
  return (
    <section class="pins" aria-label="pinned windows">
      <h2>Pinned windows</h2>
      <p class="quiet">They are kept although limits of time and size remove what is around them.</p>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          const pin = { from: Math.round(from), until: Math.round(to), note: note.trim() }
          void change(() => source.add(pin, new AbortController().signal), "Pinned.").then(() => setNote(""))
        }}
      >
        <p>
          {state.other === undefined ? "The visible window: " : "Between the cursors: "}
          <b>{momentText(zone, from).slice(0, 19)}</b>, {durationText(to - from)}
        </p>
        <label>
          Note
          <input maxLength={longestNote} value={note} onInput={({ currentTarget }) => setNote(currentTarget.value)} />
        </label>
        <button type="submit" class="primary">
          Pin
        </button>
      </form>
      <p role="status" class={said?.isBad === true ? "bad" : "good"}>
        {said?.text}
      </p>
      {pins.length === 0 && <p class="quiet">None yet.</p>}
      <ul>
        {pins.map((pin) => (
          <Entry
            key={pin.id}
            {...{ pin, zone, address: source.address(pin.id), say: (text) => setSaid({ text }) }}
            onOpen={() => send({ type: "window", span: { from: pin.from, to: pin.until } })}
            onRemove={() => void change(() => source.remove(pin.id, new AbortController().signal), "Removed.")}
          />
        ))}
      </ul>
    </section>
  )
}

interface EntryProps extends Pick<PaneProps, "zone"> {
  readonly pin: Pin
  readonly address: string
  readonly say: (text: string) => void
  readonly onOpen: () => void
  readonly onRemove: () => void
}

const Entry = ({
  pin: { from, until, note, isLost, isAlert, alert },
  zone,
  address,
  say,
  onOpen,
  onRemove,
}: EntryProps) => {
  const [isAsked, setAsked] = useState(false)
  const title = note === "" ? "without a note" : visible(note, longestNote)
  const copy = (): void => {
    // Browsers offer no clipboard to pages of other hosts without TLS.
    if (navigator.clipboard === undefined) return say(address)
    navigator.clipboard.writeText(address).then(
      () => say("The link is copied."),
      () => say(address),
    )
  }
  return (
    <li aria-label={title}>
      <button type="button" class="link" onClick={onOpen}>
        {title}
      </button>
      <span class="quiet">
        {momentText(zone, from).slice(0, 19)} · {durationText(until - from)}
        {isAlert && " · by an alert"}
      </span>
      {isLost && <span class="warn">a part of it had been removed before it was kept</span>}
      {alert !== "" && <span class="quiet">{visible(alert, longestNote)}</span>}
      <span class="actions">
        <a href={address}>Its own page</a>
        <button type="button" onClick={copy}>
          Copy link
        </button>
        <button
          type="button"
          class={isAsked ? "alarming" : ""}
          onBlur={() => setAsked(false)}
          onClick={() => (isAsked ? onRemove() : setAsked(true))}
        >
          {isAsked ? "Remove for good" : "Remove"}
        </button>
      </span>
    </li>
  )
}
