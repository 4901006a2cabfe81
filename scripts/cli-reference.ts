/**
 * Brings the generated parts of docs/reference/cli.md up to date: what the commands say of themselves, so that the page and `--help` agree.
 *
 *   npm run docs:cli                 writes the page
 *   npm run docs:cli -- --check      only says whether that would change it; part of `npm run lint`
 *
 * A generated part stands between two comments, of which the first names what it shows: all commands, or one. What is outside is written by
 * hand and stays. A command without a part gets one below its heading, which is added at the end if there is none.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { commands } from "../src/cli/reel.ts"
import { commandPart, type Documented, overviewPart } from "./cli-reference/parts.ts"

const page = fileURLToPath(new URL("../docs/reference/cli.md", import.meta.url))

const everyCommand = "all commands"

const opening = (name: string): string => `<!-- generated: ${name} -->`
const closing = "<!-- end of the generated part -->"

/**
 * The page with its generated parts as the commands are now.
 *
 * @throws Error if a part does not end, occurs twice, or is of a command that does not exist.
 */
export const updated = (text: string, documented: ReadonlyArray<Documented>): string => {
  const parts = new Map([[everyCommand, overviewPart(documented)]])
  for (const each of documented) parts.set(each.syntax.name, commandPart(each, documented))
  const found = new Set<string>()
  const filled = text.replace(
    /^<!-- generated: (.+) -->\n([\s\S]*?)(?=^<!-- |(?![\s\S]))(?:(.*)\n)?/gm,
    (_, name, __, end) => {
      const part = parts.get(name)
      if (part === undefined) throw new Error(`there is no command ${name}, so nothing generates this part of the page`)
      if (end !== closing) throw new Error(`the generated part of ${name} does not end: ${closing} is missing`)
      if (found.has(name)) throw new Error(`the page has two generated parts of ${name}`)
      found.add(name)
      return `${opening(name)}\n${part}${closing}\n`
    },
  )
  return [...parts].filter(([name]) => !found.has(name)).reduce((page, [name, part]) => added(page, name, part), filled)
}

const added = (text: string, name: string, part: string): string => {
  const block = `${opening(name)}\n${part}${closing}\n`
  const heading = new RegExp(`^##+ ${name}\\n`, "m")
  if (heading.test(text)) return text.replace(heading, (line) => `${line}\n${block}`)
  return `${text.trimEnd()}\n\n## ${name}\n\n${block}`
}

/** All commands and their variants, in the order of `reel help`. */
export const documentedCommands = async (): Promise<ReadonlyArray<Documented>> => {
  const loaded = commands.map(async ({ aliases = [], load }) => {
    const { syntax, variants = [] } = await load()
    return [{ syntax, aliases }, ...variants.map((variant) => ({ syntax: variant, aliases: [] }))]
  })
  return (await Promise.all(loaded)).flat()
}

if (import.meta.main) {
  const before = readFileSync(page, "utf8")
  const after = updated(before, await documentedCommands())
  if (!process.argv.includes("--check")) writeFileSync(page, after)
  else if (after !== before) {
    console.error("docs/reference/cli.md does not say what the commands say: run npm run docs:cli")
    process.exitCode = 1
  }
}
