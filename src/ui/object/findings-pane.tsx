/** What went wrong in the window: the most serious first, and what is wrong with many objects of one owner once. */

import { useLayoutEffect, useMemo, useRef } from "preact/hooks"
import type { Finding } from "../../timeline/index.ts"
import type { PaneProps } from "../shell/pane.ts"
import { kindOf, visible } from "../text/shown-text.ts"
import { durationText, momentText } from "../timeline/axis.ts"
import { type FindingGroup, groupsOf } from "./finding-groups.ts"
import { wordsOf } from "./why.ts"

/** Objects of one group that are listed. */
const mostObjects = 100

export const FindingsPane = ({ state, send, zone }: PaneProps) => {
  const { findings, progress, span } = state.found
  const groups = useMemo(() => groupsOf(findings), [findings])
  const codes = [...new Set(groups.map(({ code }) => code))]
  const open = (finding: Finding): void =>
    send({ type: "opened", object: finding.object, time: finding.from, lane: finding.lane })
  const section = useRef<HTMLElement>(null)
  const { activeElement } = document
  // A button that is moved within the list, because something newer came before it, loses the focus.
  useLayoutEffect(() => {
    if (activeElement instanceof HTMLElement && section.current?.contains(activeElement) === true)
      activeElement.focus({ preventScroll: true })
  }, [groups])
  return (
    <section ref={section} class="findings" aria-label="what went wrong">
      <header>
        <h2>What went wrong</h2>
        {progress < 1 ? (
          <p class="quiet" role="status">
            <progress value={progress} max={1} aria-label="examined" /> {Math.floor(progress * 100)} % of the window is
            examined
          </p>
        ) : (
          groups.length === 0 && (
            <p class="good">
              {`Nothing${state.leftOut !== undefined ? " of what you may read" : ""} in this window${state.isFollowing ? ` up to ${momentText(zone, span.to).slice(11, 19)}` : ""}.`}
            </p>
          )
        )}
      </header>
      {codes.map((code) => {
        const of = groups.filter((group) => group.code === code)
        const count = of.reduce((sum, each) => sum + new Set(each.findings.map(({ lane }) => lane)).size, 0)
        return (
          <section key={code} aria-label={wordsOf(code)}>
            <h3>
              {wordsOf(code)} <span class="quiet">{count === 1 ? "1 object" : `${count} objects`}</span>
            </h3>
            <ul>
              {of.map((group) => (
                <Group key={group.key} {...{ group, zone, open }} />
              ))}
            </ul>
          </section>
        )
      })}
    </section>
  )
}

interface GroupProps extends Pick<PaneProps, "zone"> {
  readonly group: FindingGroup
  readonly open: (finding: Finding) => void
}

const Group = ({ group, zone, open }: GroupProps) => {
  const { findings, gvk, namespace, name, from, to } = group
  const [first] = findings
  if (first === undefined) return null
  const lasts = to === undefined ? "still so" : `for ${durationText(to - from)}`
  const times = findings.reduce((sum, { count }) => sum + count, 0)
  return (
    <li>
      <button type="button" class="finding" onClick={() => open(first)}>
        <span class="name">
          <span class="kind">{kindOf(gvk)}</span> {namespace !== "" && <span class="quiet">{visible(namespace)}/</span>}
          {visible(name)}
          {findings.length > 1 && <b class="count">{` ×${findings.length}`}</b>}
        </span>
        <span class={`since ${to === undefined ? "bad" : "quiet"}`}>
          {momentText(zone, from).slice(11, 19)} · {lasts}
          {times > findings.length && ` · ${times} times`}
        </span>
        {first.message !== "" && <span class="message">{visible(first.message, 240)}</span>}
      </button>
      {findings.length > 1 && (
        <details>
          <summary>each</summary>
          <ul>
            {findings.slice(0, mostObjects).map((finding) => (
              <li key={`${finding.lane} ${finding.from}`}>
                <button type="button" class="link" onClick={() => open(finding)}>
                  {visible(finding.object.name)}
                </button>{" "}
                <span class="quiet">{momentText(zone, finding.from).slice(11, 19)}</span>
              </li>
            ))}
            {findings.length > mostObjects && <li class="quiet">{`and ${findings.length - mostObjects} more`}</li>}
          </ul>
        </details>
      )}
    </li>
  )
}
