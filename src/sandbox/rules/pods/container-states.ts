/** Statuses of a Pod's containers: `state` and `lastState` are structs, which Go writes even when they are not set. */

import type { DefaultTable } from "../default-table.ts"

const states: DefaultTable = { set: { state: {}, lastState: {} } }

/** By the member of a Pod's status that lists them. */
export const containerStates: Readonly<Record<string, DefaultTable>> = {
  initContainerStatuses: states,
  containerStatuses: states,
  ephemeralContainerStatuses: states,
}
