/** What is missing in a window of a recording. */
export interface Lack {
  /** `gap`: changes were lost; `unrecorded`: the kind, or a namespace of it, was not recorded; `late`: nothing is lost, but it was received later. */
  readonly type: "gap" | "unrecorded" | "late"
  readonly gvk: string
  /** Empty: all namespaces. */
  readonly namespace: string
  /** µs since the Unix epoch, both ends inclusive. */
  readonly from: number
  readonly to: number
  /** In words. */
  readonly why: string
}
