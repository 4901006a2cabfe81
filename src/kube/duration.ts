/** Durations as Go writes them: `1h2m3.5s`, `200ms`. */

const units: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
}

/** Go's duration text in ms; `undefined` for anything else and for negative ones. */
export const parseDuration = (text: string): number | undefined => {
  if (text === "0") return 0
  if (!/^(\d+(\.\d*)?(ns|us|µs|ms|s|m|h))+$/.test(text)) return undefined
  let ms = 0
  for (const [, amount = "", unit = ""] of text.matchAll(/(\d+(?:\.\d*)?)(ns|us|µs|ms|s|m|h)/g)) {
    ms += Number(amount) * (units[unit] ?? 0)
  }
  return ms
}
