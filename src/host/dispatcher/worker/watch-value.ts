/** What a guest reads from a watch: one Kubernetes watch event as JSON for each change of its subscription. */
import type { HubChange } from "../../hub/hub-change.ts"

/** Of one watch of a guest. */
export interface GuestWatch {
  readonly apiVersion: string
  readonly kind: string
  readonly allowBookmarks: boolean
}

/** `isLast`: the watch ends after the value; the guest lists again. */
export interface WatchValue {
  readonly bytes: Uint8Array
  readonly isLast: boolean
}

const opening = {
  added: Buffer.from('{"type":"ADDED","object":'),
  modified: Buffer.from('{"type":"MODIFIED","object":'),
  deleted: Buffer.from('{"type":"DELETED","object":'),
  expired: Buffer.from('{"type":"ERROR","object":'),
} as const
const closing = Buffer.from("}")

/** How an API server marks the bookmark that completes a streaming list. */
const initialEventsEnd = { "k8s.io/initial-events-end": "true" } as const

/** The value for a change, a copy; `undefined` if the guest gets none: it did not ask for bookmarks, and Kubernetes has no event for a new history. */
export const watchValueOf = (watch: GuestWatch, change: HubChange): WatchValue | undefined => {
  if (change.type === "history") return undefined
  if (change.type === "synced" || change.type === "bookmark") {
    if (!watch.allowBookmarks) return undefined
    const { apiVersion, kind } = watch
    const annotations = change.type === "synced" ? { annotations: initialEventsEnd } : {}
    const object = { apiVersion, kind, metadata: { resourceVersion: change.version, ...annotations } }
    return { bytes: Buffer.from(JSON.stringify({ type: "BOOKMARK", object })), isLast: false }
  }
  const bytes = Buffer.concat([opening[change.type], change.bytes, closing])
  return { bytes, isLast: change.type === "expired" }
}

/** The value for a watch that cannot begin or continue: an ERROR event with a Status. The watch ends after it. */
export const watchFailure = (code: number, reason: string, message: string): Uint8Array =>
  Buffer.from(
    JSON.stringify({
      type: "ERROR",
      object: { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code },
    }),
  )
