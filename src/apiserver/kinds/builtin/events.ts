/** The kinds of events.k8s.io, as Kubernetes 1.34.4 lists them. */

import type { Resource } from "../resources.ts"
import { kindsOf } from "./kinds-of.ts"
import { storedAsCoreEvent } from "./views/event-view.ts"

const { namespaced } = kindsOf("events.k8s.io", "v1")

export const eventsResources: ReadonlyArray<Resource> = [
  namespaced("Event", "events", {
    shortNames: ["ev"],
    storedAs: storedAsCoreEvent,
    zeroValue:
      '"eventTime":null,"regarding":{},"deprecatedSource":{},"deprecatedFirstTimestamp":null,"deprecatedLastTimestamp":null',
  }),
]
