/** Statuses of a Pod's containers: `state` and `lastState` are structs, which Go writes even when nobody set them. */

import type { DefaultTable } from "../default-table.ts"

const states: DefaultTable = { set: { state: {}, lastState: {} } }

/** By the members of a Pod's status that are lists of them. */
export const containerStates: Readonly<Record<string, DefaultTable>> = {
  initContainerStatuses: states,
  containerStatuses: states,
  ephemeralContainerStatuses: states,
}
