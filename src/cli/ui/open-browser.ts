/**
 * Opens the browser of who runs the command.
 *
 * What a program is started with can be read by every user of the machine, so the browser is not given the page's address, which has a secret in it, but a file
 * that only this user can read and that leads there.
 */

import { spawn } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { messageOf } from "../../message-of.ts"
import { html } from "../../page/index.ts"

type Environment = Readonly<Record<string, string | undefined>>

/** What opens a file by its type: a program and its first arguments, which no shell reads. A text: why there is none. */
export const opener = (
  platform: NodeJS.Platform,
  environment: Environment,
): readonly [string, ...string[]] | string => {
  if (platform === "darwin") return ["open"]
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"]
  // Without a display, xdg-open would run a browser for terminals in this one.
  const hasDisplay = [environment.DISPLAY, environment.WAYLAND_DISPLAY].some((display) => (display ?? "") !== "")
  return hasDisplay ? ["xdg-open"] : "there is no display"
}

/** A document that leads to an address. */
const leadingTo = (address: string): string =>
  `<!doctype html>\n${html`<meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0; url=${address}"><a href="${address}">kubereel</a>`}\n`

/** That a browser was asked to open something. Disposing removes what leads it there. */
interface Opening extends AsyncDisposable {
  /** Why it could not be opened; `undefined`: it could, as far as is known. */
  readonly failure: string | undefined
}

/** Resolves once the opener has ended or, if it is the browser itself, after some seconds. */
export const openBrowser = async (
  address: string,
  environment: Environment,
  [program, ...first]: readonly [string, ...string[]],
): Promise<Opening> => {
  const folder = await mkdtemp(join(tmpdir(), "kubereel-ui-"))
  const file = join(folder, "page.html")
  await writeFile(file, leadingTo(address), { mode: 0o600 })
  const failure = await run(program, [...first, file], environment)
  return { failure, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}

/** ms after which an opener that still runs is taken to have succeeded. */
const openerMs = 5000

const run = (program: string, words: ReadonlyArray<string>, environment: Environment): Promise<string | undefined> =>
  new Promise((resolve) => {
    const opening = spawn(program, words, { stdio: "ignore", detached: true, env: { ...environment } })
    opening.unref()
    const timer = setTimeout(() => resolve(undefined), openerMs)
    const end = (failure: string | undefined): void => {
      clearTimeout(timer)
      resolve(failure)
    }
    opening.once("error", (error) => end(messageOf(error)))
    opening.once("exit", (code) => end(code === 0 ? undefined : `${program} ended with code ${code}`))
  })
