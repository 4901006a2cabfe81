/** `/at/TIME/api/v1/pods`: the moment in a path, and the rest of it. */

interface MomentPath {
  /** As a person writes it: `03:12`, `-10m`, `2026-11-21T10:00:00Z`, `start`. */
  readonly moment: string
  /** The path below it with the query; `/` if there is none. */
  readonly rest: string
}

/** `undefined` for a path without a moment. Escapes that cannot be read stay as they are. */
export const momentIn = (url: string): MomentPath | undefined => {
  const [, moment, rest = ""] = /^\/at\/([^/?]+)(.*)$/s.exec(url) ?? []
  if (moment === undefined) return undefined
  return { moment: unescaped(moment), rest: rest.startsWith("/") ? rest : `/${rest}` }
}

/** The path of a moment on a server. */
export const pathOfMoment = (moment: string): string => `/at/${encodeURIComponent(moment).replaceAll("%3A", ":")}`

const unescaped = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
