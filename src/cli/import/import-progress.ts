/** How far an import is, as one line. */
import type { ImportProgress } from "../../audit/import-order.ts"
import { formatBytes, formatCount } from "../terminal/quantities.ts"

/** `size`: bytes of all logs; `undefined` if it is not known. */
export const describeProgress = (
  { bytesRead, changes, isWriting }: Readonly<ImportProgress>,
  size: number | undefined,
): string => {
  const found = formatCount(changes, "change")
  if (isWriting) return `writing: ${found}`
  const read = formatBytes(bytesRead)
  return size === undefined ? `reading: ${found}, ${read}` : `reading: ${found}, ${read} of ${formatBytes(size)}`
}
