/** `reel get`: objects as they were at a moment, printed as kubectl prints them. */
import { parseGvk } from "../kube/offline.ts"
import { visible } from "../text/index.ts"
import {
  type CommandSyntax,
  flag,
  integerBetween,
  type OptionValues,
  oneOf,
  optional,
  withDefault,
} from "./command-line/arguments.ts"
import { type Command, command } from "./command-line/command.ts"
import { type ExitCode, exitCodes, Misasked } from "./command-line/exit-codes.ts"
import { builtInPlurals } from "./command-line/kind-option.ts"
import { recorderVariables } from "./command-line/shared-options.ts"
import { type Asking, ask } from "./past/asking.ts"
import { objectOf, objectsOf, resourceOf } from "./past/changes-of.ts"
import { readMoment } from "./past/moments.ts"
import { exactKinds, readObjectName } from "./past/object-name.ts"
import type { PastParameters } from "./past/past-client.ts"
import { pastOptions } from "./past/past-places.ts"
import { PastTable } from "./past/past-table.ts"
import { ListWriter, printedObject } from "./past/printed-objects.ts"

const options = {
  at: withDefault(
    "now",
    "TIME",
    "the moment: 03:12, yesterday 03:12, -10m, 2026-11-21T10:00:00Z; now is, with --data-dir, the end of the recording",
  ),
  namespace: optional("-n NAME", "only this namespace; default: all"),
  allNamespaces: flag({ short: "A", help: "all namespaces, which is the default" }),
  selector: optional("-l SELECTOR", "only objects with these labels: app=web,tier in (a,b)"),
  fieldSelector: optional(
    "SELECTOR",
    "only objects with these fields, of any path: spec.nodeName=a,status.phase!=Running",
  ),
  output: optional("-o FORMAT", "wide, name, json or yaml; default: a table", oneOf("wide", "name", "json", "yaml")),
  limit: optional("N", "at most so many objects of each kind", integerBetween(1, 1_000_000)),
  showManagedFields: flag({ help: "keep metadata.managedFields in json and yaml" }),
  ...pastOptions,
}

type Options = OptionValues<typeof options>

const syntax: CommandSyntax<typeof options> = {
  name: "reel get",
  summary: "Shows objects as they were at a moment of a recording, as kubectl get does.",
  description: [
    "Ages are those at that moment. Custom kinds have the columns of their CustomResourceDefinition if that is recorded.",
  ],
  options,
  operand: {
    placeholder: "KIND [NAME]",
    help: "kinds and a name as with kubectl: pods, deploy web, deploy/web, pods,services",
    isRepeated: true,
    candidates: builtInPlurals,
  },
  exitCodes: {
    failed: "the object that was named did not exist, or there is no answer",
    incomplete: "the recording lacks something that concerns the answer; standard error says what",
  },
  environment: recorderVariables,
  examples: [
    "reel get pods -A --at 03:12",
    "reel get deploy web -n shop --at -10m -o yaml --data-dir /var/lib/kubereel",
    "reel get pods -A --at 2026-11-21T10:00:00Z -o json | jq '.items[].metadata.name'",
  ],
  seeAlso: ["reel history", "reel events", "reel diff", "reel serve", "docs/guides/recordings.md"],
}

/** The command. `now`: µs since the Unix epoch. */
export const getCommand = (now: () => number = () => Date.now() * 1000): Command =>
  command(syntax, async (given, terminal, operands) =>
    ask(given, terminal, now, (asking) => get(given, operands, asking)),
  )

const get = async (given: Options, operands: ReadonlyArray<string>, asking: Asking): Promise<ExitCode | undefined> => {
  const { kind, name } = readObjectName(operands)
  if (given.namespace !== undefined && given.allNamespaces) throw new Misasked("-n and -A contradict each other")
  const kinds = await exactKinds(asking, kind.split(","))
  const at = readMoment("--at", given.at, asking)
  const { namespace, selector: labels, fieldSelector: fields, limit } = given
  const parameters = { namespace, name, labels, fields, limit, at }
  const shown = await show(given, asking, kinds, { ...parameters, isSingle: name !== undefined })
  if (shown > 0) return undefined
  if (name === undefined) {
    asking.say(namespace === undefined ? "No resources found" : `No resources found in ${namespace} namespace`)
    return undefined
  }
  asking.say(`there was no ${kinds.join(" or ")} ${JSON.stringify(name)} at that moment`)
  return exitCodes.failed
}

interface Shown extends PastParameters {
  readonly at: number
  readonly isSingle: boolean
}

/** Returns how many objects there are. */
const show = async (
  given: Options,
  asking: Asking,
  kinds: ReadonlyArray<string>,
  { isSingle, ...parameters }: Shown,
): Promise<number> => {
  const { output, showManagedFields, namespace } = given
  let count = 0
  if (output === "json" || output === "yaml") {
    const writer = new ListWriter(asking.print, output, isSingle)
    for (const kind of kinds)
      for await (const item of objectsOf(asking, kind, parameters)) {
        count++
        writer.add(printedObject(objectOf(item), kind, showManagedFields))
      }
    writer.end()
    return count
  }
  for (const [index, kind] of kinds.entries()) {
    if (output === "name") {
      for await (const item of objectsOf(asking, kind, parameters)) {
        count++
        asking.print(visible(`${qualifiedName(kind)}/${item.name}`))
      }
      continue
    }
    const resource = await resourceOf(asking, kind, parameters.at)
    const table = new PastTable(resource, {
      isWide: output === "wide",
      hasNamespaces: resource.namespaced && namespace === undefined,
      prefix: kinds.length > 1 ? `${qualifiedName(kind)}/` : "",
      atMs: parameters.at / 1000,
    })
    for await (const item of objectsOf(asking, kind, parameters)) {
      count++
      table.add(objectOf(item), item.isStatusUnknown === true)
    }
    if (table.isEmpty) continue
    if (index > 0 && count > 0) asking.print("")
    for (const line of table.lines()) asking.print(line)
  }
  return count
}

/** `pod`, `deployment.apps`. */
const qualifiedName = (gvk: string): string => {
  const { group, kind } = parseGvk(gvk) ?? { group: "", kind: gvk }
  return group === "" ? kind.toLowerCase() : `${kind.toLowerCase()}.${group}`
}
