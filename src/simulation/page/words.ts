/** Numbers and places as the pages write them. */

/** `1 234`. */
export const formatCount = (count: number): string => String(Math.round(count)).replace(/\B(?=(?:\d{3})+$)/g, " ")

/** `0.4 ms`, `12 ms`, `1.42 s`, `3 m 05 s`; `–` if there is none. */
export const formatMs = (ms: number | null | undefined): string => {
  if (ms === null || ms === undefined) return "–"
  if (Math.abs(ms) < 10) return `${ms.toFixed(1)} ms`
  if (Math.abs(ms) < 1000) return `${ms.toFixed(0)} ms`
  if (Math.abs(ms) < 60_000) return `${(ms / 1000).toFixed(2)} s`
  const seconds = Math.round(ms / 1000)
  return `${Math.floor(seconds / 60)} m ${String(seconds % 60).padStart(2, "0")} s`
}

/** `99.9 %`; 100 % only if it is all. */
export const formatShare = (share: number | null): string =>
  share === null ? "–" : `${share === 1 ? "100" : (Math.floor(share * 1000) / 10).toFixed(1)} %`

/** `shop/web`, or `fast` for a cluster-scoped object. */
export const formatPlace = (namespace: string, name: string): string =>
  namespace === "" ? name : `${namespace}/${name}`

/** µs since the Unix epoch as UTC with ms. */
export const formatInstant = (micros: number): string =>
  new Date(micros / 1000).toISOString().replace("T", " ").replace("Z", " UTC")

/** `10×`, or `max`. */
export const formatSpeed = (speed: number | "max"): string => (speed === "max" ? "max" : `${speed}×`)
