/** Sandboxes with the controllers of a cluster. */

import type { Sandbox } from "../../../src/library/sandbox.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { open } from "../opened-sandbox.ts"

/** Of all of them: controllers act when it is advanced. */
export const clock = new ManualClock()

export const start = (): Promise<Sandbox> => open({ lifecycle: true, clock, bookmarkInterval: 0 })
