/** Sandboxes with the controllers of a cluster, which a test closes at its end. */

import type { Sandbox } from "../../../src/sandbox/index.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { open } from "../opened-sandbox.ts"

/** Of all sandboxes of a file: controllers act when it is advanced. */
export const clock = new ManualClock()

export const start = (): Promise<Sandbox> => open({ lifecycle: true, clock, bookmarkInterval: 0 })
