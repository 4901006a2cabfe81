/**
 * `--auth token`: whoever has one of the tokens of a file may do everything.
 *
 * The file is read for each request, so that a token that is put in, or taken out, counts at once; it is small, and requests are few.
 * A file that cannot be read, or holds no token, lets nobody in. Several lines are several tokens: the old and the new one during a
 * rotation.
 */
import { createHash, timingSafeEqual } from "node:crypto"
import { readFile } from "node:fs/promises"
import * as Schema from "effect/Schema"
import { messageOf } from "../../runtime/errors.ts"
import { type Access, type Decision, presentedToken, tokenForm } from "./access.ts"

/** The file does not serve; nobody is let in. */
export class TokenFileError extends Schema.TaggedError<TokenFileError>()("TokenFileError", {
  path: Schema.String,
  reason: Schema.String,
}) {
  override get message(): string {
    return `the token file ${this.path} cannot be used: ${this.reason}`
  }
}

/** characters of a token at least: what can be tried out is no secret. */
const shortestToken = 16

/** The tokens of a file. Blank lines do not count. Rejects with {@link TokenFileError}; what it says holds nothing of the file. */
export const readTokenFile = async (path: string): Promise<ReadonlyArray<string>> => {
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    throw new TokenFileError({ path, reason: messageOf(cause) })
  })
  const lines = text.split("\n").map((line) => line.trim())
  const tokens = lines.filter((line) => line !== "")
  if (tokens.length === 0) throw new TokenFileError({ path, reason: "it holds no token" })
  for (const [index, line] of lines.entries()) {
    if (line === "") continue
    const fault = faultOf(line)
    if (fault !== undefined) throw new TokenFileError({ path, reason: `line ${index + 1} ${fault}` })
  }
  return tokens
}

const faultOf = (token: string): string | undefined => {
  if (!tokenForm.test(token)) return "has characters that no bearer token has; letters, digits and -._~+/ may be in it"
  return token.length < shortestToken ? `is shorter than ${shortestToken} characters` : undefined
}

/**
 * Access by a file of tokens.
 *
 * @param trouble is told why the file does not serve, once per reason, and `undefined` when it does again
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
        return { tag: "refused", status: 503, message: "the recorder cannot read its tokens now; its log says why" }
      }
      say(undefined)
      const place = placeOf(presented.token, tokens)
      return place === undefined
        ? { tag: "refused", status: 401, message: "this token is not one that the recorder knows" }
        : { tag: "allowed", who: `the holder of token ${place + 1}` }
    },
    close: () => undefined,
  }
}

/** Looks at every token whatever was found, each by a digest of one length: the time tells nothing. */
const placeOf = (token: string, tokens: ReadonlyArray<string>): number | undefined => {
  const presented = digest(token)
  let place: number | undefined
  for (const [index, known] of tokens.entries()) {
    if (timingSafeEqual(presented, digest(known))) place = index
  }
  return place
}

const digest = (token: string): Buffer => createHash("sha256").update(token).digest()
