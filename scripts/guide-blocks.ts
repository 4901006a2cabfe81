/** The code blocks of Markdown pages, for the tests that run them. Pure. */

export interface GuideBlock {
  /** `sh`, `ts`; empty without one. */
  readonly language: string
  readonly text: string
  /** Line of the page on which the block begins, counted from 1. */
  readonly line: number
  /** Why the page says that the block is not run: `<!-- not run: REASON -->` on the line after it. */
  readonly notRun: string | undefined
  /** What the page says has to be done before, for the reader another block or page: `<!-- given: NAME -->`. */
  readonly given: string | undefined
}

/** In the order of the page. */
export const blocksOf = (markdown: string): ReadonlyArray<GuideBlock> =>
  [...markdown.matchAll(/^( *)```(\w*)\n([\s\S]*?)^\1```\n?((?: *<!--[^>]*-->\n?)*)/gm)].map((match) => {
    const [, indent = "", language = "", body = "", comments = ""] = match
    const text = indent === "" ? body : body.replaceAll(new RegExp(`^${indent}`, "gm"), "")
    return {
      language,
      text,
      line: markdown.slice(0, match.index).split("\n").length,
      notRun: /<!-- not run: ([^>]+?) -->/.exec(comments)?.[1],
      given: /<!-- given: ([^>]+?) -->/.exec(comments)?.[1],
    }
  })
