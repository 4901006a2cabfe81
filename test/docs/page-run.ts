/** A page of the documentation, done as its reader does it: each block as it stands, in order, in one directory. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { blocksOf, type GuideBlock } from "../../scripts/guide-blocks.ts"
import { root } from "./project.ts"
import { type BlockRun, ShellSession } from "./shell-session.ts"

/** What a reader has and a page does not make: puts a file of this name into the directory. */
export type Givens = Readonly<Record<string, (path: string) => void | Promise<void>>>

export interface PageRun {
  /** Its path, for messages. */
  readonly page: string
  readonly markdown: string
  readonly directory: string
  readonly environment: NodeJS.ProcessEnv
  readonly givens: Givens
  /** The other blocks are left out. */
  readonly isIncluded: (block: GuideBlock) => boolean
}

/** Returns the lines of the page whose blocks ran. @throws Error with page and line of what is not as the page says. */
export const runPage = async (run: PageRun): Promise<ReadonlyArray<number>> => {
  const { page, markdown, directory, environment, givens, isIncluded } = run
  const session = new ShellSession(directory, environment)
  const done: number[] = []
  const printed: string[] = []
  const runBlock = async (block: GuideBlock): Promise<void> => {
    for (const name of block.given) {
      const give = givens[name]
      if (give === undefined) throw new Error(`the tests do not have ${name}`)
      await give(join(directory, name))
    }
    if (block.printedBy !== undefined) return comparePrinted(block, block.printedBy, printed)
    const file = ownFileOf(block) ?? `line-${block.line}.${block.language}`
    writeFileSync(join(directory, file), block.text)
    const command = commandOf(block, file)
    if (command === undefined) return
    const script = join(directory, `.line-${block.line}.sh`)
    writeFileSync(script, command)
    if (block.runsOn !== undefined) return session.runOn(script, block.runsOn)
    const result = await session.run(script)
    judge(command, result)
    printed.push(`${command}\n${result.output}`)
  }
  try {
    for (const block of blocksOf(markdown)) {
      if (block.notRun !== undefined || !isIncluded(block)) continue
      await runBlock(block).catch((cause: unknown) => {
        throw new Error(`${page}:${block.line}: ${cause instanceof Error ? cause.message : cause}`, { cause })
      })
      done.push(block.line)
    }
  } catch (cause) {
    // The first thing that is wrong counts; what runs on may end badly because of it.
    await session.close().catch(() => undefined)
    throw cause
  }
  await session.close()
  return done
}

/** The name in the comment on the first line of a block, if the block is a file of the reader's: `# tracer.yml`. */
const ownFileOf = ({ text }: GuideBlock): string | undefined => /^(?:#|\/\/) ([\w.-]+\.\w+)\n/.exec(text)?.[1]

/** What a reader types for the block, which is in this file. */
const commandOf = ({ language, text }: GuideBlock, file: string): string | undefined => {
  if (language === "sh") return text
  if (language !== "ts") return undefined
  return text.includes('from "vitest"')
    ? `node node_modules/vitest/vitest.mjs run --root . ${file}\n`
    : `node ${file}\n`
}

/** Every command ends with 0, or with a code that the comment on its line names. */
const judge = (text: string, { failed, output }: BlockRun): void => {
  const lines = text.split("\n")
  for (const { code, line } of failed) {
    let last = line - 1
    while (lines[last]?.endsWith("\\")) last++
    const command = lines.slice(line - 1, last + 1).join("\n")
    const named = [...command.matchAll(/# .*?\bexit code (\d+)/g)].map(([, each]) => Number(each))
    if (!named.includes(code)) throw new Error(`exit code ${code} of\n${command}\n${output}`)
  }
}

/** Figures, their units and so whether there are one or several vary from run to run; words and their order do not. */
const shapeOf = (line: string): string =>
  line
    .replaceAll(/\d[\d.,]*( (ms|s|m)\b)?/g, "0")
    .replaceAll(/\b(pod|event|object)s\b/g, "$1")
    .replaceAll(/ +/g, " ")
    .trim()

/** Every line that a page shows has to be among those that were printed, figures aside. */
const comparePrinted = ({ text }: GuideBlock, printedBy: string, printed: ReadonlyArray<string>): void => {
  const output = printed.findLast((each) => each.includes(printedBy))
  if (output === undefined) throw new Error(`no command before it has "${printedBy}"`)
  const shapes = new Set(output.split("\n").map(shapeOf))
  const missing = text.split("\n").find((line) => line !== "" && !shapes.has(shapeOf(line)))
  if (missing !== undefined) throw new Error(`"${missing}" is not printed:\n${output}`)
}

/** @param path below the checkout. */
export const readPage = (path: string): string => readFileSync(join(root, path), "utf8")
