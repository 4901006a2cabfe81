/**
 * The reference of what the package exports, out of the doc comments: a page for each entry, `dist/api/host.md` for `kubereel/host`.
 *
 *   npm run docs:api    also part of prepack, after `tsc -p tsconfig.types.json`
 *
 * Throws if the declaration of an export is not found.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))

interface Declaration {
  /** Without its marks; empty without one. */
  readonly comment: string
  readonly text: string
}

/** A file of declarations: its own by name, what it passes on of others, and what it says of itself. */
interface DeclarationFile {
  readonly own: ReadonlyMap<string, Declaration>
  readonly passedOn: ReadonlyMap<string, { readonly file: string; readonly name: string }>
  /** Of which it passes on everything. */
  readonly whole: ReadonlyArray<string>
  readonly about: string
}

const declared = /^(?:export )?(?:declare )?(?:abstract )?(?:const|function|class|interface|type|enum) (\w+)/

const plain = (comment: string): string =>
  comment
    .replace(/^\s*\/\*\*\s?|\s*\*\/\s*$/g, "")
    .replaceAll(/^\s*\* ?/gm, "")
    .replaceAll(/\{@link ([^}|\s]+)[^}]*\}/g, "`$1`")
    .trim()

const read = (file: string): DeclarationFile => {
  const own = new Map<string, Declaration>()
  const passedOn = new Map<string, { readonly file: string; readonly name: string }>()
  const whole: string[] = []
  const statements = readFileSync(file, "utf8").split(/^(?=\/\*\*|export|declare|type|interface|class|const|import)/m)
  const target = (path: string): string => join(dirname(file), path.replace(/\.ts$/, ".d.ts"))
  let comment = ""
  for (const statement of statements) {
    if (statement.startsWith("/**")) {
      comment = statement
      continue
    }
    const [, name] = declared.exec(statement) ?? []
    const [, list, all, path] = /^export (?:type )?(?:\{([^}]*)\}|(\*)) from "(\.[^"]+)"/.exec(statement) ?? []
    if (name !== undefined) own.set(name, { comment: plain(comment), text: statement.trim() })
    else if (all !== undefined && path !== undefined) whole.push(target(path))
    else if (list !== undefined && path !== undefined)
      for (const [, from = "", to = from] of list.matchAll(/(?:type )?(\w+)(?: as (\w+))?/g))
        passedOn.set(to, { file: target(path), name: from })
    comment = ""
  }
  const [first = ""] = statements.filter((statement) => statement.trim() !== "")
  return { own, passedOn, whole, about: first.startsWith("/**") ? plain(first) : "" }
}

const known = new Map<string, DeclarationFile>()
const fileOf = (path: string): DeclarationFile => {
  const found = known.get(path) ?? read(path)
  known.set(path, found)
  return found
}

/** Follows a name through the doors of rooms. */
const find = (path: string, name: string): Declaration | undefined => {
  const { own, passedOn, whole } = fileOf(path)
  const to = passedOn.get(name)
  return (
    own.get(name) ?? (to ? find(to.file, to.name) : undefined) ?? whole.flatMap((each) => find(each, name) ?? [])[0]
  )
}

const exportsOf = (path: string): ReadonlyArray<string> => {
  const { own, passedOn, whole } = fileOf(path)
  const exported = [...own].filter(([, { text }]) => text.startsWith("export")).map(([name]) => name)
  return [...new Set([...exported, ...passedOn.keys(), ...whole.flatMap(exportsOf)])]
}

/** The page of an entry. `name`: as it is imported. */
export const apiPage = (name: string, path: string): string => {
  const names = [...exportsOf(path)].sort((one, other) => one.localeCompare(other, "en"))
  const parts = names.map((each) => {
    const declaration = find(path, each)
    if (declaration === undefined) throw new Error(`${name}: there is no declaration of ${each}`)
    const text = declaration.text
      .replaceAll(/^ {4}(?:#private|private [^;]*);\n/gm, "")
      .replace(/^export (?:declare )?/, "")
      // What Effect makes of the fields, which are in the comment and the message.
      .replace(/ extends \w+_base /, " extends Error ")
    return `## ${each}\n\n${declaration.comment === "" ? "" : `${declaration.comment}\n\n`}\`\`\`ts\n${text}\n\`\`\`\n`
  })
  const [single] = fileOf(path).whole
  const about = single === undefined ? fileOf(path).about : fileOf(single).about
  return [`# ${name}\n\n${about}\n`, ...parts].join("\n")
}

if (import.meta.main) {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  const folder = join(root, "dist/api")
  mkdirSync(folder, { recursive: true })
  for (const [entry, { types }] of Object.entries<{ readonly types: string }>(exports)) {
    // The schemas of the API server speak for themselves.
    if (entry === "./kinds") continue
    const name = entry === "." ? "kubereel" : `kubereel/${basename(entry)}`
    const page = apiPage(name, join(root, types))
    writeFileSync(join(folder, `${basename(name)}.md`), page)
    console.log(
      `dist/api/${basename(name)}.md: ${page.match(/^## /gm)?.length} exports, ${Math.round(page.length / 1000)} kB`,
    )
  }
}
