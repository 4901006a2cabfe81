/** All tools, in the order in which assistants see them. */
import type { PastTool } from "../past-tool.ts"
import { events, objectHistory, why } from "./changes.ts"
import { differences } from "./differences.ts"
import { getObjects } from "./get-objects.ts"
import { coverage, kinds } from "./recordings.ts"

export const allTools: ReadonlyArray<PastTool> = [getObjects, objectHistory, events, differences, why, coverage, kinds]
