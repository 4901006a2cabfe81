/**
 * Plain sentences of help texts as Markdown: what a user may type or copy becomes code, pages become links, and no character is taken for markup.
 */
import { posix } from "node:path"

/** The folder of the page, from which links lead. */
const folder = "docs/reference"

/** What becomes code wherever it is. */
const code = [
  // --output FILE, --driver-arg=--settle=1s
  String.raw`--[a-z][\w-]*(?:=[^\s,;)]+|[ ][A-Z]{2,}(?:[:/=][A-Z]+)*(?![\w-]))?`,
  // -10m, 1h30m, -1h..now
  String.raw`(?<![\w.:+-])[+-]?\d+(?:ms|[smhdw])(?:\d+[smh])?(?:\.\.\w+)?(?![\w-])`,
  // 10Gi
  String.raw`(?<![\w.-])\d+[KMGT]i(?!\w)`,
  // app=web,tier!=db and app=web,tier in (a,b)
  String.raw`(?<![\w./-])[\w./-]+!?=[\w./-]+(?:,[\w./-]+(?:!?=[\w./-]+| in \([\w,]+\)))*`,
  // ~/.kube/config, s3://BUCKET/KEY, apps/*, DRIVER_NAME
  String.raw`[~\w.*$:/'"=[\]-]*(?:[/*=_]|\.\w+\[)[~\w.*:/'"=[\]()$-]*[\w*/\]"…]`,
  // v1.Secret, FILE.zst, .sktrace, SERVICE:PORT
  String.raw`(?<![\w])(?:[A-Za-z][\w-]*)?(?:\.[A-Za-z][\w-]*)+(?!\w)`,
  String.raw`(?<![\w])[A-Z]{2,}:[A-Z]{2,}(?!\w)`,
].join("|")

/** `words`: further words that become code. */
export const marked = (text: string, words: ReadonlyArray<string>): string => {
  const page = String.raw`docs/[\w/.-]+\.md`
  const own = [...new Set(words)].sort((left, right) => right.length - left.length).map(literal)
  const pattern = new RegExp(
    [
      `(?<page>${page})`,
      String.raw`\(default (?<value>[^)]+)\)`,
      ...own.map((word) => String.raw`(?<![\w./-])${word}(?![\w/-]|[.:']\w)`),
      code,
    ].join("|"),
    "g",
  )
  let result = ""
  let end = 0
  for (const match of text.matchAll(pattern)) {
    result += escaped(text.slice(end, match.index))
    result += linked(match.groups?.page) ?? defaulted(match.groups?.value) ?? `\`${cell(match[0])}\``
    end = match.index + match[0].length
  }
  return result + escaped(text.slice(end))
}

const linked = (page: string | undefined): string | undefined =>
  page === undefined ? undefined : `[${page.replace("docs/", "")}](${posix.relative(folder, page)})`

const defaulted = (value: string | undefined): string | undefined =>
  value === undefined ? undefined : `(default \`${cell(value)}\`)`

const literal = (text: string): string => text.replace(/[^\w]/g, String.raw`\$&`)

const cell = (text: string): string => text.replaceAll("|", "\\|")

const escaped = (text: string): string => text.replace(/[\\`*_[\]<>|]/g, "\\$&")
