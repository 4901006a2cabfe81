/**
 * The token that a command presents to a recorder: from a file or from KUBEREEL_TOKEN. Never from the command line, which every
 * user of the machine can read.
 */
import { readFile } from "node:fs/promises"
import { codeOf } from "../../../trace/files/output-errors.ts"
import { TokenUnreadable } from "./export-errors.ts"

const tokenVariable = "KUBEREEL_TOKEN"

/** `undefined` if there is none: by default, a recorder on this machine needs no token. Rejects with {@link TokenUnreadable}. */
export const recorderToken = async (
  file: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string | undefined> => {
  const place = file ?? tokenVariable
  const given = file === undefined ? environment[tokenVariable] : await contentOf(file)
  if (given === undefined || (file === undefined && given === "")) return undefined
  // The recorder's own token file may contain several tokens, the newest first.
  const token = given.trim().split(/\s+/)[0] ?? ""
  if (token === "") throw new TokenUnreadable({ place, reason: "it is empty" })
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new TokenUnreadable({ place, reason: "it contains characters that are not allowed in a token" })
  return token
}

const contentOf = (path: string): Promise<string> =>
  readFile(path, "utf8").catch((cause: unknown) => {
    throw new TokenUnreadable({ place: path, reason: reasonOf(codeOf(cause)) })
  })

const reasonOf = (code: string): string =>
  code === "ENOENT" ? "file not found" : code === "EACCES" ? "permission denied" : `reading failed (${code})`
