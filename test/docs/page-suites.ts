/** Which suite runs the blocks of which page. */
import type { GuideBlock } from "../../scripts/guide-blocks.ts"

/** `npm run test:long`: programs, and the commands that need no more than a sandbox. */
export const sandboxPages: ReadonlyArray<string> = [
  "README.md",
  "docs/guides/audit-logs.md",
  "docs/guides/controllers.md",
  "docs/guides/history.md",
  "docs/guides/query.md",
  "docs/guides/recordings.md",
  "docs/guides/replay.md",
  "docs/guides/sandbox.md",
]
/** `npm run test:cluster`: all commands, because those that call kubectl need what others do. */
export const clusterPages: ReadonlyArray<string> = [
  "README.md",
  "docs/guides/controllers-in-cluster.md",
  "docs/guides/history.md",
  "docs/guides/in-cluster.md",
  "docs/guides/sandbox.md",
  "docs/guides/simulations.md",
]
/** `npm run test:cluster`: only the commands that call kubectl. */
export const kubectlPages: ReadonlyArray<string> = ["docs/guides/replay.md"]
/** `npm run test:long`: each program in a project of its own. */
export const programPages: ReadonlyArray<string> = ["docs/guides/embed.md"]

/** Only the cluster suite is sure to have it. */
export const callsKubectl = ({ text }: GuideBlock): boolean => /\bkubectl\b/.test(text.replaceAll(/ #.*/g, ""))

/** Whether a suite runs the block. */
export const isRun = (page: string, block: GuideBlock): boolean => {
  if (block.language === "text" && block.printedBy === undefined) return false
  if (block.language === "ts") return [...sandboxPages, ...programPages].includes(page)
  if (callsKubectl(block)) return [...clusterPages, ...kubectlPages].includes(page)
  return clusterPages.includes(page) || sandboxPages.includes(page)
}
