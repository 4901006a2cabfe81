/** What a trace lacks, as the recorder states it in a header, in sentences for people. */
import { formatLocalTime } from "../../local-time.ts"
import { enumerated, visible } from "../../text/index.ts"
import { nearestKind } from "../command-line/kind-option.ts"

/** Kinds named in one sentence; the header has all of them. */
const mostNamed = 10

/**
 * One sentence for each thing that several kinds lack, without a full stop. `incomplete`: the value of the header (`v1.Pod=forbidden,
 * v1.Node in shop=recorded-START/END, …`). `nowMs` decides which times need a date. `endsEarly`: whether a recorded part that ends at
 * that moment lacks the end of the window; by default none does.
 */
export const describeIncompleteness = (
  incomplete: string,
  nowMs: number,
  endsEarly: (until: string) => boolean = () => false,
): ReadonlyArray<string> => {
  const predicate = (name: string, state: string) => predicateOf(name, state, nowMs, endsEarly)
  const parts = incomplete.split(", ").map((text) => {
    const split = text.lastIndexOf("=")
    return { name: text.slice(0, split), state: text.slice(split + 1) }
  })
  const groups = Map.groupBy(parts, ({ name, state }) => predicate(name, state).join("|"))
  return [...groups.values()].map((group) => {
    const { name: first = "", state = "" } = group[0] ?? {}
    const isPlural = group.length > 1 || /^\d+ more$/.test(first)
    const [one, many] = predicate(first, state)
    return visible(`${listed(group.map(({ name }) => named(name)))} ${isPlural ? many : one}`)
  })
}

/** A header that is too long ends with `12 more`. */
const named = (name: string): string => name.replace(/^(\d+) more$/, "$1 more kinds")

/** `v1.Pod, v1.Node and 40 more` */
export const listed = (names: ReadonlyArray<string>): string => {
  const shown = names.length > mostNamed ? [...names.slice(0, mostNamed), `${names.length - mostNamed} more`] : names
  return enumerated(shown, "and")
}

/** What is said of one kind, and of several. */
const predicateOf = (
  name: string,
  state: string,
  nowMs: number,
  endsEarly: (until: string) => boolean,
): readonly [one: string, many: string] => {
  const [, since, until = ""] = /^recorded-(.+)\/(.+)$/.exec(state) ?? []
  if (since !== undefined && endsEarly(until))
    return both("recorded only from", `${localTime(since, nowMs)} until ${localTime(until, nowMs)}`)
  if (since !== undefined) return both("recorded only from", `${localTime(since, nowMs)} on`)
  switch (state) {
    case "recorded-in-part":
      return both("recorded only", "in part")
    case "unrecorded":
      return both("not recorded", "in this window")
    case "untracked": {
      const meant = nearestKind(name)
      return both("not recorded", `by this recorder${meant === undefined ? "" : `; did you mean ${meant}?`}`)
    }
    case "waiting":
      return both("not installed", "in the cluster")
    case "forbidden":
      return ["may not be listed by the recorder", "may not be listed by the recorder"]
    case "failing":
      return ["cannot be recorded now", "cannot be recorded now"]
    case "catching-up":
      return ["is still catching up", "are still catching up"]
    case "listing":
      return both("being listed", "now")
    case "stopped":
      return [
        "is no longer recorded, because its watcher kept failing",
        "are no longer recorded, because their watchers kept failing",
      ]
    default:
      return both(state, "")
  }
}

const both = (what: string, more: string): readonly [string, string] => {
  const rest = more === "" ? what : `${what} ${more}`
  return [`is ${rest}`, `are ${rest}`]
}

const localTime = (instant: string, nowMs: number): string => {
  const milliseconds = Date.parse(instant)
  return Number.isNaN(milliseconds) ? instant : formatLocalTime(milliseconds, nowMs)
}
