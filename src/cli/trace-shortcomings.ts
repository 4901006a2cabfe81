/** What a trace for a replay lacks, in words that several commands print. */
import { formatCount } from "./terminal/quantities.ts"

/** Changes that were left out because they change nothing for a replay. */
export const describeUnchanged = (count: number): string =>
  `${formatCount(count, "change")} left out that change nothing for a replay, such as changes of status`
