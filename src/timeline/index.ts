/**
 * The time line as data: lanes, tiles, what went wrong, and how the state of an object is judged. The same code runs in the reader of a recording and in
 * the page, which draws a file that has no server.
 *
 * Guarantee: it imports nothing, runs in a browser and in Node, is total for objects of any structure, and takes time and memory in proportion to what it
 * is given.
 */

export { conditionMicros, wrongStatusesOf } from "./conditions.ts"
export { containerLists, terminatedName, waitingName } from "./containers.ts"
export {
  type EventStatement,
  type ExplainingFact,
  Explanation,
  type FactSort,
  isConsequence,
  statementText,
} from "./explanation.ts"
export { type Finding, type FindingCode, findingCodes } from "./finding.ts"
export { FindingTracker } from "./findings.ts"
export {
  canBeWrong,
  type Health,
  healthOf,
  isAlwaysPlain,
  isUnschedulable,
  type PartHealth,
  partsOf,
  UNSCHEDULABLE,
} from "./health.ts"
export type { Lack } from "./lack.ts"
export { kindsWithoutLanes, type Lane, type LaneObject, type Part } from "./lane.ts"
export { type LaneOwner, type LaneRow, type LaneRows, LaneTree, laneRows } from "./lane-tree.ts"
export { marks, type Tone, toneIn, tones } from "./tile.ts"
export { columnOf, TileDrawing, type TileRange, type TileWindow, tileOf } from "./tiles.ts"
