/**
 * `--auth token`: anyone with one of the tokens in a file may do everything.
 *
 * The file is read for each request, so that adding or removing a token takes effect at once; it is small, and requests
 * are rare. If the file cannot be read or contains no token, every request is refused. Each line is a token: during a
 * rotation, the old and the new one.
 */
import { createHash, timingSafeEqual } from "node:crypto"
import * as Schema from "effect/Schema"
import { messageOf } from "../../message-of.ts"
import { readRegularFile, UnusualFileError } from "../../regular-file.ts"
import { type Access, type Decision, presentedToken, tokenForm } from "./access.ts"

/** The file cannot be used; every request is refused. */
export class TokenFileError extends Schema.TaggedError<TokenFileError>()("TokenFileError", {
  path: Schema.String,
  reason: Schema.String,
}) {
  override get message(): string {
    return `the token file ${this.path} cannot be used: ${this.reason}`
  }
}

/** Minimum length of a token in characters: a shorter one could be guessed. */
const shortestToken = 16

/** The tokens of a file. Blank lines are ignored. Rejects with {@link TokenFileError}, whose message contains nothing of the file's content. */
export const readTokenFile = async (path: string): Promise<ReadonlyArray<string>> => {
  const text = await readRegularFile(path).catch((cause: unknown) => {
    throw new TokenFileError({ path, reason: whyUnreadable(cause) })
  })
  const lines = text.split("\n").map((line) => line.trim())
  const tokens = lines.filter((line) => line !== "")
  if (tokens.length === 0) throw new TokenFileError({ path, reason: "it contains no token" })
  for (const [index, line] of lines.entries()) {
    if (line === "") continue
    const fault = faultOf(line)
    if (fault !== undefined) throw new TokenFileError({ path, reason: `line ${index + 1} ${fault}` })
  }
  return tokens
}

/** Why a small file cannot be read, without its path. */
export const whyUnreadable = (cause: unknown): string => {
  if (cause instanceof UnusualFileError) return `it ${cause.reason}`
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined
  if (code === "ENOENT") return "file not found"
  return code === "EACCES" ? "permission denied" : `reading failed: ${messageOf(cause)}`
}

const faultOf = (token: string): string | undefined => {
  if (!tokenForm.test(token))
    return "contains characters that are not allowed in a bearer token; allowed are letters, digits and -._~+/"
  return token.length < shortestToken ? `is shorter than ${shortestToken} characters` : undefined
}

/**
 * Access by a file of tokens.
 *
 * @param trouble called once per reason why the file cannot be used, and with `undefined` when it can be again
 */
export const tokenFileAccess = (path: string, trouble: (error: TokenFileError | undefined) => void): Access => {
  let said: string | undefined
  const say = (error: TokenFileError | undefined): void => {
    if (error?.reason !== said) trouble(error)
    said = error?.reason
  }
  return {
    async decide(headers): Promise<Decision> {
      const presented = presentedToken(headers)
      if (presented.tag === "refused") return presented.refusal
      let tokens: ReadonlyArray<string>
      try {
        tokens = await readTokenFile(path)
      } catch (cause) {
        if (!(cause instanceof TokenFileError)) throw cause
        say(cause)
        return {
          tag: "refused",
          status: 503,
          message: "its tokens cannot be read at present; its log has the reason",
        }
      }
      say(undefined)
      const place = placeOf(presented.token, tokens)
      return place === undefined
        ? { tag: "refused", status: 401, message: "this token is not one of those that are accepted" }
        : { tag: "allowed", who: `the holder of token ${place + 1}` }
    },
    close: () => undefined,
  }
}

/** Compares with every token, even after a match, by digests of equal length, so that timing reveals nothing. */
const placeOf = (token: string, tokens: ReadonlyArray<string>): number | undefined => {
  const presented = digest(token)
  let place: number | undefined
  for (const [index, known] of tokens.entries()) {
    if (timingSafeEqual(presented, digest(known))) place = index
  }
  return place
}

const digest = (token: string): Buffer => createHash("sha256").update(token).digest()
