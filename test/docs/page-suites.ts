/** Which suite runs the blocks of which page. */
import type { GuideBlock } from "../../scripts/guide-blocks.ts"

/** `npm test`: the commands that need no more than a sandbox. */
export const sandboxPages: ReadonlyArray<string> = [
  "README.md",
  "docs/guides/recordings.md",
  "docs/guides/replay.md",
  "docs/guides/simulations.md",
]
/** `npm run test:cluster`: all commands. */
export const clusterPages: ReadonlyArray<string> = ["README.md"]
/** `npm test`: each block of TypeScript as a program of its own. */
export const programPages: ReadonlyArray<string> = ["docs/guides/embed.md"]

/** Only the cluster suite is sure to have it. */
export const callsKubectl = ({ text }: GuideBlock): boolean => /\bkubectl\b/.test(text.replaceAll(/ #.*/g, ""))

/** Whether a suite runs the block. */
export const isRun = (page: string, block: GuideBlock): boolean => {
  if (block.language === "ts") return programPages.includes(page)
  return clusterPages.includes(page) || (sandboxPages.includes(page) && !callsKubectl(block))
}
