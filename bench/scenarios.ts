/** All scenarios, in the order in which they run. */
import { catchUp } from "./catch-up.ts"
import { ceiling } from "./ceiling.ts"
import { exporting } from "./export.ts"
import { guard } from "./guard.ts"
import { history } from "./history.ts"
import { host } from "./host.ts"
import { hostile } from "./hostile.ts"
import { hostileServer } from "./hostile-server.ts"
import { ingest } from "./ingest.ts"
import { kinds } from "./kinds.ts"
import { lookups } from "./lookups.ts"
import { mailbox } from "./mailbox.ts"
import { memory } from "./memory.ts"
import { queries } from "./queries.ts"
import { replay } from "./replay.ts"
import { retention } from "./retention.ts"
import { sandbox } from "./sandbox.ts"
import type { Scenario } from "./scenario.ts"
import { start } from "./start.ts"
import { transform } from "./transform.ts"

export const scenarios: ReadonlyArray<Scenario> = [
  ingest,
  catchUp,
  start,
  memory,
  kinds,
  lookups,
  exporting,
  history,
  queries,
  retention,
  hostile,
  hostileServer,
  mailbox,
  sandbox,
  host,
  replay,
  transform,
  ceiling,
  guard,
]

/** Those that run if none is named. */
export const partsOfAll = scenarios.filter(({ isPartOfAll = true }) => isPartOfAll)
