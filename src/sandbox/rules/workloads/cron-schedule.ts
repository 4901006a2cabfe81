/** What the server's cron parser (robfig/cron v3, standard fields) says about a schedule it cannot read. */

interface CronField {
  readonly minimum: number
  readonly maximum: number
  readonly names: ReadonlyArray<string>
}

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
const days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]

const fields: ReadonlyArray<CronField> = [
  { minimum: 0, maximum: 59, names: [] },
  { minimum: 0, maximum: 23, names: [] },
  { minimum: 1, maximum: 31, names: [] },
  { minimum: 1, maximum: 12, names: months },
  { minimum: 0, maximum: 6, names: days },
]

const descriptors = new Set(["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"])

/** `undefined` for a schedule that can be read. */
export const scheduleComplaint = (schedule: string): string | undefined => {
  if (schedule.includes("TZ")) return "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
  if (schedule.startsWith("@")) return descriptorComplaint(schedule)
  const parts = schedule.split(/\s+/).filter((part) => part !== "")
  if (parts.length !== fields.length) return `expected exactly 5 fields, found ${parts.length}: [${parts.join(" ")}]`
  for (const [index, field] of fields.entries())
    for (const range of (parts[index] ?? "").split(",")) {
      const complaint = rangeComplaint(range, field)
      if (complaint !== undefined) return complaint
    }
  return undefined
}

const descriptorComplaint = (schedule: string): string | undefined => {
  if (descriptors.has(schedule)) return undefined
  if (/^@every (\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/.test(schedule)) return undefined
  return schedule.startsWith("@every ")
    ? `failed to parse duration ${schedule}: time: invalid duration ${JSON.stringify(schedule.slice(7))}`
    : `unrecognized descriptor: ${schedule}`
}

/** `*`, `?`, `5`, `1-5`, `mon`, each with an optional `/step`. */
const rangeComplaint = (text: string, field: CronField): string | undefined => {
  const [range = "", step, ...more] = text.split("/")
  const [low = "", high, ...rest] = range.split("-")
  const everything = low === "*" || low === "?"
  const start = everything ? field.minimum : numberOf(low, field)
  if (typeof start === "string") return start
  if (!everything && rest.length > 0) return `too many hyphens: ${text}`
  const stepped = numberOf(step ?? "1", { minimum: 0, maximum: 0, names: [] })
  const single = high === undefined
  const end = everything ? field.maximum : single ? (step === undefined ? start : field.maximum) : numberOf(high, field)
  if (typeof end === "string") return end
  if (more.length > 0) return `too many slashes: ${text}`
  if (typeof stepped === "string") return stepped
  if (start < field.minimum) return `beginning of range (${start}) below minimum (${field.minimum}): ${text}`
  if (end > field.maximum) return `end of range (${end}) above maximum (${field.maximum}): ${text}`
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${text}`
  return stepped === 0 ? `step of range should be a positive number: ${text}` : undefined
}

/** A number, or the complaint about what is none. */
const numberOf = (text: string, { names, minimum }: CronField): number | string => {
  const named = names.indexOf(text.toLowerCase())
  if (named !== -1) return named + minimum
  if (/^[+-]?\d+$/.test(text)) {
    const value = Number(text)
    return value < 0 ? `negative number (${value}) not allowed: ${text}` : value
  }
  return `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`
}
