/**
 * Fails on broken references: links and anchors of Markdown pages; paths, file names and scripts of package.json in pages and comments;
 * decisions, and the rules, hazards and defects that docs/facts defines. Part of `npm run lint`.
 *
 * In code only comments are read for paths, because tests invent paths in strings. Numbers of rules, hazards and defects are read
 * everywhere, because they occur in the names of tests.
 */
import { existsSync, globSync, readFileSync } from "node:fs"
import { basename, join, posix } from "node:path"
import { fileURLToPath } from "node:url"

/** Folders whose paths are recognised in text. Others (`dist/`, `spec/`) are not ours to check. */
const roots = [
  "docs",
  "src",
  "test",
  "bench",
  "scripts",
  "proto",
  "k8s",
  "bin",
  "examples/host",
  String.raw`\.ci`,
].join("|")

const read = [
  "*.md",
  "docs/**/*.md",
  "bench/results/README.md",
  "examples/**/*.{md,ts}",
  "{src,test,bench,scripts,bin}/**/*.{ts,js}",
  "proto/*.proto",
  ".ci/run",
]

/** Files that refer to nothing on purpose. */
const invented = ["test/data/**", "test/scripts/check-references.test.ts"]

/** Names of files that other projects have. */
const foreign = new Set(["generated.proto"])

/** What the numbers in comments and test names refer to. */
const numbered: ReadonlyArray<{
  readonly cited: RegExp
  readonly page: string
  readonly defined: (n: string) => RegExp
}> = [
  { cited: /\bW-\d\d\b/g, page: "docs/facts/simkube.md", defined: (text) => new RegExp(`^\\| ${text} \\|`, "m") },
  {
    cited: /(?<=\((?:J\d+, )*)J\d+(?=(?:, J\d+)*\))/g,
    page: "docs/facts/watch-protocol.md",
    defined: (text) => new RegExp(`^\\| ${text} \\|`, "m"),
  },
  {
    cited: /(?<=\brules? (?:\d+ and )?)\d+\b/gi,
    page: "docs/facts/watch-protocol.md",
    defined: (text) => new RegExp(`^### Rule ${text}$`, "m"),
  },
]

/** The part of a line that is not code: Markdown without the targets of links, comments elsewhere. */
const prose = (file: string, line: string): string => {
  if (file.endsWith(".md")) return line.replace(/\]\([^)]*\)/g, "]")
  if (/^\s*(?:\/\*\*?|\*|\/\/|#)/.test(line)) return line
  return line.match(/(?:\s\/\/ |\/\*\*? ).*$/)?.[0] ?? ""
}

/** Text without the fenced blocks, which are examples; line numbers stay. */
const unfenced = (text: string): string =>
  text.replace(/^( *)```[\s\S]*?^\1```/gm, (block) => block.replace(/[^\n]/g, ""))

/** The anchors of a page, as GitHub makes them from its headings. */
export const anchorsOf = (markdown: string): ReadonlySet<string> => {
  const anchors = new Set<string>()
  for (const [, heading = ""] of unfenced(markdown).matchAll(/^#{1,6} +(.+?) *$/gm)) {
    const text = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase()
    const slug = text.replace(/[^\p{L}\p{N}\p{M}_ -]/gu, "").replaceAll(" ", "-")
    let anchor = slug
    for (let repeated = 1; anchors.has(anchor); repeated++) anchor = `${slug}-${repeated}`
    anchors.add(anchor)
  }
  return anchors
}

/** One line per broken reference: `file:line: what`. */
export const brokenReferences = (root: string): ReadonlyArray<string> => {
  const files = globSync(read, { cwd: root, exclude: invented }).sort()
  const all = globSync("{docs,src,test,bench,scripts,proto,k8s,bin,examples}/**/*.*", { cwd: root })
  const names = new Set([...all, ...files].map((file) => basename(file)))
  const pages = new Map<string, string>()
  const page = (path: string): string => {
    const known = pages.get(path)
    const text = known ?? (existsSync(join(root, path)) ? readFileSync(join(root, path), "utf8") : "")
    if (known === undefined) pages.set(path, text)
    return text
  }

  const problemOfPath = (path: string, anchor: string | undefined): string | undefined => {
    // `src/FOLDER/NAME.ts`: any folder, any name.
    const pattern = existsSync(join(root, path)) ? path : path.replace(/(?<=\/)[A-Z]+(?=\/|\.ts$)/g, "*")
    const isThere = /[*{]/.test(pattern)
      ? globSync(pattern, { cwd: root }).length > 0
      : existsSync(join(root, path)) || (/\/\d{4}$/.test(path) && globSync(`${path}-*.md`, { cwd: root }).length === 1)
    if (!isThere) return `${path} does not exist`
    if (anchor === undefined || !path.endsWith(".md") || anchorsOf(page(path)).has(anchor)) return undefined
    return `${path} has no heading for #${anchor}`
  }

  const scripts: Readonly<Record<string, string>> = JSON.parse(page("package.json") || "{}").scripts ?? {}

  const inMarkdown = (file: string, line: string): ReadonlyArray<string | undefined> =>
    [...line.replace(/`[^`]*`/g, "").matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => {
      if (/^[a-z]+:/.test(target)) return undefined
      const [path = "", anchor] = target.split("#")
      return problemOfPath(path === "" ? file : posix.join(posix.dirname(file), path), anchor)
    })

  const inProse = (text: string): ReadonlyArray<string | undefined> => {
    const paths = text.matchAll(
      new RegExp(String.raw`(?<![\w./@\\-])((?:${roots})/[\w./{},*-]*[\w/*}])(?:#([\w-]+))?`, "g"),
    )
    const bare = text.matchAll(/(?<![\w./@*{}$-])([\w-]+(?:\.[\w-]+)*\.(?:ts|md|proto))\b(?![\w/])/g)
    const decisions = text.matchAll(/\bdecisions? (\d{4})\b/g)
    const run = text.matchAll(/\bnpm run ([a-z][\w:-]*)/g)
    return [
      ...[...paths].map(([, path = "", anchor]) => problemOfPath(path, anchor)),
      ...[...bare].map(([, name = ""]) =>
        names.has(name) || foreign.has(name) || /^[A-Z]+\.ts$/.test(name) ? undefined : `no file is called ${name}`,
      ),
      ...[...decisions].map(([, number]) => problemOfPath(`docs/decisions/${number}`, undefined)),
      ...[...run].map(([, name = ""]) =>
        Object.hasOwn(scripts, name) ? undefined : `package.json has no script ${name}`,
      ),
      // Sections of our own pages are named by their heading, which can be looked up; RFCs and other sites have their own way.
      /§/.test(text) && !/RFC|https?:/.test(text)
        ? "§ of what? Name the heading of a page (page.md#heading)"
        : undefined,
    ]
  }

  const inNumbers = (line: string): ReadonlyArray<string | undefined> =>
    numbered.flatMap(({ cited, page: path, defined }) =>
      [...line.matchAll(cited)].map(([text]) =>
        defined(text).test(page(path))
          ? undefined
          : `${path} does not define ${/^\d/.test(text) ? `rule ${text}` : text}`,
      ),
    )

  return files.flatMap((file) => {
    const isMarkdown = file.endsWith(".md")
    const text = readFileSync(join(root, file), "utf8")
    return (isMarkdown ? unfenced(text) : text).split("\n").flatMap((line, index) => {
      const found = [...(isMarkdown ? inMarkdown(file, line) : []), ...inProse(prose(file, line)), ...inNumbers(line)]
      return found.filter((problem) => problem !== undefined).map((problem) => `${file}:${index + 1}: ${problem}`)
    })
  })
}

if (import.meta.main) {
  const broken = brokenReferences(fileURLToPath(new URL("../", import.meta.url)))
  for (const problem of broken) console.error(problem)
  if (broken.length > 0) process.exitCode = 1
}
