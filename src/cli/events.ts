/** `reel events`: everything that happened in a stretch of time. */

import type { StreamEndReason } from "../recorder/index.ts"
import type { JsonObject, JsonValue } from "../trace/index.ts"
import { type CommandSyntax, flag, list, type OptionValues, optional, withDefault } from "./command-line/arguments.ts"
import { type Command, command } from "./command-line/command.ts"
import { type ExitCode, exitCodes, Misasked } from "./command-line/exit-codes.ts"
import { recorderVariables } from "./command-line/shared-options.ts"
import { isExportError } from "./export/connection/export-errors.ts"
import { fieldOption, printChanges } from "./history.ts"
import { type Asking, ask, outputOption } from "./past/asking.ts"
import { changesOf } from "./past/changes-of.ts"
import { readMoment } from "./past/moments.ts"
import { chosenKinds, exceptOption } from "./past/object-name.ts"
import { askPast, type PastParameters } from "./past/past-client.ts"
import { pastOptions } from "./past/past-places.ts"

// `--follow`: what changed since a moment, and then what changes, until Ctrl-C. A connection that breaks, or that the recorder ends, is opened again where it was, so no
// change is missing or printed twice; a recorder that refuses that, because a right was lost or what follows was removed, ends it.

// Why a recorder ended a stream of events, in words.

/** For each reason, what to say of the recorder. */
const reasons: Readonly<Record<StreamEndReason, string>> = {
  retention: "retention has removed the events that follow",
  stopping: "it is stopping",
  failed: "it cannot read the recording",
  "rights-changed": "what you may read has changed",
  "rights-undecided": "it could not check what you may read",
  "slow-client": "this client took nothing for too long",
  "time-limit": "no stream lasts longer",
}

/** A reason as a recorder names it; one that is not known here, of a newer recorder, is given as it is. */
export const streamEndText = (reason: JsonValue | undefined): string =>
  Object.entries(reasons).find(([name]) => name === reason)?.[1] ?? String(reason)

/** ms before the first attempt to continue, and the longest; each attempt waits for twice as long as the one before. */
const firstPauseMs = 500
const longestPauseMs = 15_000

/** A time that no recording reaches. */
const never = Number.MAX_SAFE_INTEGER

/**
 * Changes as the recorder describes them. Gaps are among them, of type `gap`. Ends when the signal is aborted. Rejects
 * with an ExportError if the recorder does not answer at first, or refuses to continue.
 */
async function* followedChanges(
  { places, signal, lacks, say }: Asking,
  parameters: PastParameters & { readonly from: number },
): AsyncGenerator<JsonObject, void, void> {
  const [place, another] = places
  if (place === undefined || another !== undefined)
    throw new Misasked("--follow is about one recording: name one recorder or one directory")
  try {
    let after = 0
    yield* askPast(place, "changes", { ...parameters, to: never }, signal, (end) => {
      lacks(end)
      after = Number(end.cut)
    })
    const { from: _, ...selection } = parameters
    for (let pauseMs = firstPauseMs; ; ) {
      let why = ""
      const ended = ({ reason, sequence }: JsonObject): void => {
        after = Number(sequence ?? after)
        why = `${place.recorder.name} ended the stream: ${streamEndText(reason)}`
      }
      try {
        const question = { ...selection, after, objects: false, differences: true }
        for await (const event of askPast(place, "events", question, signal, ended)) {
          after = Number(event.sequence)
          pauseMs = firstPauseMs
          if (event.type !== "progress") yield event
        }
      } catch (cause) {
        if (signal.aborted || !isExportError(cause) || isFinal(cause)) throw cause
        why = cause.message.replace(/\.$/, "")
      }
      say(`${why}; trying again in ${pauseMs / 1000} s`)
      await paused(pauseMs, signal)
      pauseMs = Math.min(2 * pauseMs, longestPauseMs)
    }
  } catch (cause) {
    if (signal.aborted) return
    throw cause
  }
}

/** Whether trying again would bring the same answer, such as that what followed is not kept any more. */
const isFinal = (cause: object): boolean => {
  const { status } = cause as { readonly status?: number }
  return status !== undefined && status !== 429 && status < 500
}

const paused = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener("abort", done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener("abort", done)
  })

/** What may be asked, of whatever recordings. */
export const eventsOptions = {
  since: withDefault("10m", "TIME", "from this moment on: 10m, 03:12; 0 is the beginning of the recording"),
  until: withDefault("now", "TIME", "up to this moment"),
  kind: list("-k KIND", "only these kinds: pods,deploy; default: all"),
  except: exceptOption,
  namespace: optional("-n NAME", "only this namespace"),
  name: optional("NAME", "only objects of this name"),
  selector: optional("-l SELECTOR", "only objects that have these labels before or after the change"),
  fieldSelector: optional("SELECTOR", "only objects that have these fields before or after the change"),
  field: fieldOption,
  output: outputOption,
}

const options = {
  ...eventsOptions,
  follow: flag({ short: "f", help: "then continue with what changes, until Ctrl-C" }),
  ...pastOptions,
}

type Options = OptionValues<typeof eventsOptions> & { readonly follow?: boolean }

const syntax: CommandSyntax<typeof options> = {
  name: "reel events",
  summary: "Shows what changed in a stretch of time, of all recorded kinds or some.",
  description: [
    "These are changes of objects. Kubernetes Events are among them, with their reason and message; --except events leaves them out. With --follow, --except means all other kinds that are recorded now.",
  ],
  options,
  exitCodes: {
    ok: "also after Ctrl-C with --follow",
    incomplete: "the recording lacks something that concerns the answer; standard error says what",
    notPermitted: "what may be read has changed, and the recorder refuses to continue",
  },
  environment: recorderVariables,
  examples: [
    "reel events --since 10m",
    "reel events --since 03:00 --until 03:12 -n shop",
    "reel events --since 1h -k deploy,pods,events",
    "reel events -f -n shop --except events",
    "reel events --since 1d -k deploy --field spec.replicas",
  ],
  seeAlso: ["reel history", "reel diff", "docs/guides/recordings.md"],
}

/** The command. `now`: µs since the Unix epoch. */
export const eventsCommand = (now: () => number = () => Date.now() * 1000): Command =>
  command(syntax, async (given, terminal) => ask(given, terminal, now, (asking) => events(given, asking)))

/** Prints them. The exit code if it is not that of what is missing. @throws Misasked */
export const events = async (given: Options, asking: Asking): Promise<ExitCode | undefined> => {
  const kind = await chosenKinds(asking, given.kind, given.except)
  const from = readMoment("--since", given.since, asking)
  const { namespace, name, selector: labels, fieldSelector: fields, field } = given
  const isJson = given.output === "json"
  if (given.follow === true) {
    if (given.until !== "now") throw new Misasked("--follow does not end by itself, so there is no --until")
    if (field !== undefined) throw new Misasked("--follow shows whole changes: leave out --field")
    await printChanges(followedChanges(asking, { kind, name, namespace, labels, fields, from }), asking, isJson)
    return exitCodes.ok
  }
  const to = readMoment("--until", given.until, asking)
  const answer = changesOf(asking, { kind, name, namespace, labels, fields, field, from, to })
  const count = await printChanges(answer, asking, isJson)
  if (count === 0) asking.say("nothing changed in that time", true)
  return undefined
}
