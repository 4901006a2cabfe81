/** The members of a list response besides its items. */

export interface ListHead {
  /** `PodList`; the empty string while unknown. `Status` if the server returned an error instead. */
  readonly kind: string
  readonly apiVersion: string
  /** The version of the whole list, the same on all its pages; the empty string while unknown. */
  readonly resourceVersion: string
  /** Token for the next page; `undefined` on the last one, where the server leaves it out or empty. */
  readonly continueToken: string | undefined
  /** Items on the remaining pages, if the server sends it: it does not with selectors. The API calls it an estimate. */
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

/** The head with one more member of the list object; members that do not describe the list change nothing. */
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

/** Whether {@link withListMember} uses the member, so that others need not be kept in memory. */
export const isListMember = (key: string): boolean => key === "kind" || key === "apiVersion" || key === "metadata"
