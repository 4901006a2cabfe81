/** The code blocks of Markdown pages and what the comments after them tell the tests that run them. Pure. */

export interface GuideBlock {
  /** `sh`, `ts`; empty without one. */
  readonly language: string
  readonly text: string
  /** Line of the page on which the block begins, counted from 1. */
  readonly line: number
  /** Why the block is not run: `<!-- not run: REASON -->`. */
  readonly notRun: string | undefined
  /** The block keeps running until Ctrl-C; the next one begins once its output has all these texts: `<!-- runs on: TEXT, TEXT -->`. */
  readonly runsOn: ReadonlyArray<string> | undefined
  /** What the reader has and the page does not make, such as a trace: `<!-- given: day.ndjson, old.kubeconfig -->`. */
  readonly given: ReadonlyArray<string>
  /** The block is what a command printed that has been run before and contains this text: `<!-- printed by: TEXT -->`. */
  readonly printedBy: string | undefined
}

/** In the order of the page. */
export const blocksOf = (markdown: string): ReadonlyArray<GuideBlock> =>
  [...markdown.matchAll(/^( *)```(\w*)\n([\s\S]*?)^\1```\n?((?: *<!--[^>]*-->\n?)*)/gm)].map((match) => {
    const [, indent = "", language = "", body = "", comments = ""] = match
    const text = indent === "" ? body : body.replaceAll(new RegExp(`^${indent}`, "gm"), "")
    const mark = (name: string): string | undefined => new RegExp(`<!-- ${name}: ([^>]+?) -->`).exec(comments)?.[1]
    return {
      language,
      text,
      line: markdown.slice(0, match.index).split("\n").length,
      notRun: mark("not run"),
      runsOn: mark("runs on")?.split(", "),
      given: mark("given")?.split(", ") ?? [],
      printedBy: mark("printed by"),
    }
  })
