/** `reel history`: every change of an object, what differed and who made it. */
import { formatExactJson, isFieldPath, type JsonObject, parseFieldPath } from "../trace/index.ts"
import {
  type CommandSyntax,
  flag,
  type OptionValues,
  optional,
  refused,
  value,
  withDefault,
} from "./command-line/arguments.ts"
import { type Command, command } from "./command-line/command.ts"
import { type ExitCode, exitCodes } from "./command-line/exit-codes.ts"
import { recorderVariables } from "./command-line/shared-options.ts"
import { type Asking, ask, outputOption } from "./past/asking.ts"
import { changesOf } from "./past/changes-of.ts"
import { changeLines, objectName } from "./past/describe-change.ts"
import { readMoment } from "./past/moments.ts"
import { exactKinds, readObjectName } from "./past/object-name.ts"
import { pastOptions } from "./past/past-places.ts"

/** A path to a field, as text. */
export const fieldOption = optional(
  "PATH",
  'only changes of this field: spec.replicas, metadata.labels["app"], spec.template.spec.containers[name=web].image',
  (given: string) => {
    const path = parseFieldPath(given)
    return isFieldPath(path) ? value(given) : refused(`is no path to a field: ${path.problem}`)
  },
)

/** What may be asked, of whatever recordings. */
export const historyOptions = {
  namespace: optional("-n NAME", "namespace of the object; default: any"),
  since: withDefault(
    "0",
    "TIME",
    "from this moment on: 2h, 03:12, 2026-11-21T10:00:00Z; 0 is the beginning of the recording",
  ),
  until: withDefault("now", "TIME", "up to this moment"),
  field: fieldOption,
  withOwned: flag({
    help: "the objects that it owned as well, such as a Deployment's ReplicaSets and Pods, and the Kubernetes Events about them",
  }),
  output: outputOption,
}

const options = { ...historyOptions, ...pastOptions }

const syntax: CommandSyntax<typeof options> = {
  name: "reel history",
  summary: "Shows every recorded change of an object: what differed, and who made it.",
  description: [
    "An object that was deleted and made again under its name is one history, with a mark. Who made a change is what metadata.managedFields says: programs, apart from those that wrote a subresource such as status or scale. It does not say who deleted, evicted or bound an object, or removed a field (by ?).",
  ],
  options,
  operand: { placeholder: "KIND/NAME", help: "the object, as with kubectl: deploy/web", isRepeated: true },
  exitCodes: { incomplete: "the recording lacks something that concerns the answer; standard error says what" },
  environment: recorderVariables,
  examples: [
    "reel history deploy/web -n shop --since 2h",
    "reel history deploy/web --field spec.replicas --data-dir /var/lib/kubereel",
  ],
  seeAlso: ["reel get", "reel events", "reel why", "docs/guides/recordings.md"],
}

/** The command. `now`: µs since the Unix epoch. */
export const historyCommand = (now: () => number = () => Date.now() * 1000): Command =>
  command(syntax, async (given, terminal, operands) =>
    ask(given, terminal, now, (asking) => history(given, operands, asking)),
  )

/** Prints it. The exit code if it is not that of what is missing. @throws Misasked */
export const history = async (
  given: OptionValues<typeof historyOptions>,
  operands: ReadonlyArray<string>,
  asking: Asking,
): Promise<ExitCode | undefined> => {
  const { kind: named, name } = readObjectName(operands)
  const [kind] = await exactKinds(asking, [named])
  const from = readMoment("--since", given.since, asking)
  const to = readMoment("--until", given.until, asking)
  const { namespace, field, withOwned: owned, output } = given
  const answer = changesOf(asking, { kind, name, namespace, field, from, to, ...(owned && { owned }) })
  const count = await printChanges(answer, asking, output === "json")
  if (count > 0) return undefined
  asking.say(`there are no changes of ${name === undefined ? kind : `${kind} ${name}`} in that time`, true)
  return field === undefined && name !== undefined ? exitCodes.failed : undefined
}

/** Prints changes as they come; returns how many there are. */
export const printChanges = async (
  changes: AsyncIterable<JsonObject>,
  { print, say, nowMs, unknown }: Asking,
  isJson: boolean,
): Promise<number> => {
  /** By name, the UID of the object that had it last. */
  const uids = new Map<string, string>()
  let count = 0
  for await (const change of changes) {
    count++
    const time = Number(change.time)
    if (isJson) {
      print(formatExactJson(change), time)
      continue
    }
    unknown.add(change)
    if (change.type === "gap") {
      say(`a gap of ${change.gvk}: ${change.reason}: ${change.detail}`)
      continue
    }
    const name = objectName(change)
    const before = uids.get(name)
    if (before !== undefined && before !== change.uid) print(`--- ${name} was made again, as another object`, time)
    uids.set(name, String(change.uid))
    for (const line of changeLines(change, nowMs)) print(line, time)
  }
  return count
}
