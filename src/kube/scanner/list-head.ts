/** What the response to a list says besides its items. */

export interface ListHead {
  /** `PodList`; the empty string while unknown. `Status` when the server answered with an error instead. */
  readonly kind: string
  readonly apiVersion: string
  /** The version of the whole list, the same on all its pages; the empty string while unknown. */
  readonly resourceVersion: string
  /** Token for the next page; `undefined` on the last one, where the server leaves it out or empty. */
  readonly continueToken: string | undefined
  /** Items on the pages to come, if the server says so: it does not with selectors. An estimate, says the API. */
  readonly remainingItemCount: number | undefined
}

export const emptyListHead: ListHead = {
  kind: "",
  apiVersion: "",
  resourceVersion: "",
  continueToken: undefined,
  remainingItemCount: undefined,
}

const textAt = (value: unknown): string => (typeof value === "string" ? value : "")

/** The head with one more member of the list object taken in; members that say nothing about the list change nothing. */
export const withListMember = (head: ListHead, key: string, value: unknown): ListHead => {
  switch (key) {
    case "kind":
      return { ...head, kind: textAt(value) }
    case "apiVersion":
      return { ...head, apiVersion: textAt(value) }
    case "metadata": {
      if (typeof value !== "object" || value === null) return head
      const metadata: Readonly<Record<string, unknown>> = { ...value }
      const count = metadata.remainingItemCount
      return {
        ...head,
        resourceVersion: textAt(metadata.resourceVersion),
        continueToken: textAt(metadata.continue) || undefined,
        remainingItemCount: typeof count === "number" ? count : undefined,
      }
    }
    default:
      return head
  }
}

/** Whether {@link withListMember} has a use for the member, so that others need not be kept in memory. */
export const isListMember = (key: string): boolean => key === "kind" || key === "apiVersion" || key === "metadata"
