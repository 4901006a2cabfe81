/** Which kinds are being listed for the first time. */
import * as Effect from "effect/Effect"
import type { storeDefinition } from "../../actors/store/definition.ts"
import type { Supervisor } from "../../runtime/supervisor.ts"
import type { ReaderService } from "../export/reader-service.ts"
import type { KindStatus } from "../status/kind-status.ts"

/**
 * Kinds whose first list is in progress: their earlier objects are not known, and objects not listed yet would look as if they were created
 * later. A kind that is being relisted, or resumes after a restart, has a recorded state; the header and its gap name what is missing.
 */
export const firstLists = (
  store: Pick<Supervisor<never, typeof storeDefinition.control, never>, "call">,
  reader: Pick<ReaderService, "ask">,
  statuses: ReadonlyArray<KindStatus>,
): Effect.Effect<ReadonlyArray<string>> =>
  Effect.forEach(
    statuses.filter(({ state }) => state === "listing"),
    (status) =>
      store.call("kindState", status.gvk).pipe(
        Effect.map((stored) => (isInFirstList(status, stored) ? [status.gvk] : [])),
        // The store may wait for room on the disk; what is there can be read all the same.
        Effect.catch(() =>
          Effect.map(reader.ask("recordedSince", undefined), (rows) =>
            rows.some(({ gvk }) => gvk === status.gvk) ? [] : [status.gvk],
          ),
        ),
        Effect.orElseSucceed(() => [status.gvk]),
      ),
    { concurrency: "unbounded" },
  ).pipe(Effect.map((names) => names.flat()))

/** `status`: of the requested namespaces. One that is forbidden or failing is named as incomplete and refuses nothing. */
const isInFirstList = (
  { namespaces }: KindStatus,
  stored: { readonly recordedSince: number; readonly namespaces: ReadonlyArray<RecordedNamespace> },
): boolean => {
  if (namespaces.length === 0) return stored.recordedSince === 0
  const recorded = new Map(stored.namespaces.map((each) => [each.namespace, each.recordedSince]))
  return namespaces.some(({ namespace, state }) => state === "listing" && (recorded.get(namespace) ?? 0) === 0)
}

interface RecordedNamespace {
  readonly namespace: string
  readonly recordedSince: number
}
