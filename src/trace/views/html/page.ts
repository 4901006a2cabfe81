/** A page as text, piece by piece: what the trace covers, what it lacks, the time line, the list of changes. */
import { type Change, type ListedField, MOST_CHANGES } from "./change-log.ts"
import type { LifeStory, Room } from "./life-story.ts"
import { counted, escaped, offsetText, timeText } from "./markup.ts"
import { style } from "./style.ts"
import { type MissingRow, type Span, timeLine } from "./time-line.ts"

/** What a page shows. */
export interface PageContent {
  readonly title: string
  readonly span: Span
  readonly stories: ReadonlyArray<LifeStory>
  readonly room: Room
  readonly missing: ReadonlyArray<MissingRow>
  /** Gaps beside those. */
  readonly moreMissing: number
  readonly changes: ReadonlyArray<Change>
  /** With those that are not listed. */
  readonly totalChanges: number
}

/** The whole page. A browser that shows it loads nothing and runs nothing. */
export function* page(content: PageContent): Generator<string, void> {
  const { title, span, stories, missing, changes, totalChanges } = content
  yield `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${style}</style>
</head>
<body>
<h1>${escaped(title)}</h1>
<p>${timeText(span.start)} to ${timeText(span.end)}: ${counted(stories.length + content.room.missingObjects, "object")}, ${counted(totalChanges, "change")}</p>
`
  if (missing.length > 0)
    yield notice(
      `The trace is incomplete: ${counted(missing.length + content.moreMissing, "part")} of it ${missing.length + content.moreMissing === 1 ? "is" : "are"} missing, shown at the top of the time line.`,
    )
  for (const text of cutOff(content)) yield notice(text)
  yield "<h2>Time line</h2>\n"
  yield* timeLine(stories, missing, span)
  yield "<h2>Changes</h2>\n"
  if (changes.length === 0) yield "<p>Nothing changed.</p>\n"
  else {
    yield "<table><thead><tr><th>time</th><th>object</th><th>change</th></tr></thead><tbody>\n"
    for (const change of changes) yield changeRow(change, span)
    yield "</tbody></table>\n"
  }
  yield "</body>\n</html>\n"
}

const notice = (text: string): string => `<p class="notice">${escaped(text)}</p>\n`

const cutOff = ({ room, stories, totalChanges, moreMissing }: PageContent): string[] => {
  const texts: string[] = []
  if (room.missingObjects > 0)
    texts.push(
      `The time line shows the first ${counted(stories.length, "object")}; ${counted(room.missingObjects, "more object")} can only be in the list of changes.`,
    )
  if (room.missingParts > 0)
    texts.push(
      `The time line is cut off: it has no room for ${counted(room.missingParts, "more mark")} of phases, states and changes.`,
    )
  if (totalChanges > MOST_CHANGES)
    texts.push(
      `The list shows the newest ${counted(MOST_CHANGES, "change")} of ${totalChanges.toLocaleString("en-US")}.`,
    )
  if (moreMissing > 0) texts.push(`${counted(moreMissing, "more gap")} had no room.`)
  return texts
}

const changeRow = ({ time, namespace, label, what, tone, fields, isCut }: Change, span: Span): string => {
  const object = namespace === "" ? label : `${namespace} ${label}`
  const more = isCut ? "<li>and more</li>" : ""
  const list = fields.length === 0 ? "" : `<ul>${fields.map(fieldItem).join("")}${more}</ul>`
  const when = `<td class="time" title="${timeText(time)}">${offsetText(time - span.start)}</td>`
  return `<tr>${when}<td>${escaped(object)}</td><td${tone === "bad" ? ' class="bad"' : ""}>${escaped(what)}${list}</td></tr>\n`
}

const fieldItem = ({ path, before, after }: ListedField): string => {
  const [old, now] = [shownValue(before, "del"), shownValue(after, "ins")]
  return `<li><code>${escaped(path === "" ? "(everything)" : path)}</code>: ${old} → ${now}</li>`
}

const shownValue = (value: string | undefined, tag: "del" | "ins"): string =>
  value === undefined ? "(absent)" : `<${tag} class="value">${escaped(value)}</${tag}>`
