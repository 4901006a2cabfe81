/** What the modules of a directory need, from their files and from the definitions of their controllers. */
import { basename } from "node:path"
import * as Result from "effect/Result"
import {
  type DefinedController,
  defaultMemoryBytes,
  describeRefusal,
  fileSystem,
  listModules,
  loadScript,
  type ModuleSource,
  provideScriptLibrary,
  RuleSet,
  rulesOf,
  type ScopedRules,
  ScriptRefused,
  type WebhookAddress,
  webhookRulesOf,
} from "../../../host/index.ts"
import type { ModuleNeeds, Resolve } from "../../../k8s/index.ts"
import type { Discovery, Kind } from "../../../kube/index.ts"
import { parseGvk } from "../../../kube/offline.ts"
import { messageOf } from "../../../message-of.ts"

type WebhookNames = Pick<WebhookAddress, "prefix" | "service">

/** What was read; nothing is to be printed if there are problems. */
export interface DirectoryNeeds {
  readonly sources: ReadonlyArray<ModuleSource>
  /** In the order of the sources. */
  readonly modules: ReadonlyArray<ModuleNeeds>
  /** Sentences: files that are no modules, scripts that cannot be loaded, kinds that cannot be found. */
  readonly problems: ReadonlyArray<string>
  /** Files of WebAssembly modules whose rights are not known, because they have no `permissions`. */
  readonly withoutPermissions: ReadonlyArray<string>
}

/** `admission`: how the host registers webhooks. Never rejects. Runs the scripts of the directory, as far as loading them does. */
export const readModuleNeeds = async (
  directory: string,
  resolve: Resolve,
  admission: WebhookNames,
): Promise<DirectoryNeeds> => {
  const listing = await listModules(fileSystem, directory)
  if (Result.isFailure(listing)) return nothing(`${directory} cannot be read: ${listing.failure}`)
  const { modules: sources, refusals } = listing.success
  if (sources.length + refusals.length === 0) return nothing(`${directory} has no modules`)
  const problems = refusals.map(({ path, refusal }) => describeRefusal(path, refusal))
  const paths = new Map<string, string>()
  for (const { file, path } of sources) {
    const other = paths.get(file.name)
    if (other === undefined) paths.set(file.name, path)
    else problems.push(describeRefusal(path, { _tag: "DuplicateName", name: file.name, other }))
  }
  const modules: ModuleNeeds[] = []
  for (const source of sources) {
    const { name, serviceAccount, limits, checkpoint } = source.file
    try {
      const controllers = source.form === "wasm" ? [] : await controllersOf(source)
      modules.push({
        name,
        account: serviceAccount,
        ...(await rightsOf(source, controllers, resolve, admission, (problem) => problems.push(problem))),
        memoryBytes: source.form === "wasm" ? (limits.memoryBytes ?? defaultMemoryBytes) : undefined,
        hasCheckpoint: checkpoint === true || controllers.some((controller) => controller.checkpoint === true),
      })
    } catch (cause) {
      problems.push(cause instanceof ScriptRefused ? cause.message : `${source.path}: ${messageOf(cause)}`)
    }
  }
  const withoutPermissions = sources
    .filter(({ form, file }) => form === "wasm" && file.permissions === undefined)
    .map(({ path }) => path)
  return { sources, modules, problems, withoutPermissions }
}

const nothing = (problem: string): DirectoryNeeds => ({
  sources: [],
  modules: [],
  problems: [problem],
  withoutPermissions: [],
})

/** Those of a script. Rejects with ScriptRefused. */
const controllersOf = ({ codePath, codeHash, file }: ModuleSource): Promise<ReadonlyArray<DefinedController>> => {
  provideScriptLibrary()
  return loadScript({ module: file.name, codePath, codeHash, env: file.env })
}

/** Those of its file, and for a script those of its controllers; and the host's for its webhooks. `admission`: of the host. */
const rightsOf = async (
  source: ModuleSource,
  controllers: ReadonlyArray<DefinedController>,
  resolve: Resolve,
  admission: WebhookNames,
  problem: (text: string) => void,
): Promise<Pick<ModuleNeeds, "rights" | "webhooks">> => {
  const rights = new RuleSet()
  let webhooks: ReadonlyArray<ScopedRules> = []
  for (const { namespace, ...rule } of source.file.permissions ?? []) rights.allow(namespace, rule)
  if (source.form !== "wasm") {
    const missing = new Set<string>()
    const kindOf = async (name: string): Promise<Kind> => {
      const gvk = parseGvk(name)
      const answer = gvk && (await resolve(gvk))
      if (answer?.tag === "found") return answer.resource
      if (!missing.has(name)) problem(`${basename(source.codePath)}: ${name}: ${reasonOf(answer)}`)
      missing.add(name)
      // It is never printed: with it, all missing kinds are found at once.
      return { gvk: gvk ?? { group: "", version: "", kind: name }, plural: name, namespaced: true }
    }
    for (const { namespace, rules } of await rulesOf(controllers, kindOf))
      for (const rule of rules) rights.allow(namespace, rule)
    webhooks = await webhookRulesOf(controllers, kindOf, admission)
  }
  return { rights: rights.scopes(), webhooks }
}

const reasonOf = (answer: Exclude<Discovery, { tag: "found" }> | undefined): string => {
  if (answer === undefined) return "this is not a kind such as v1.Pod or apps/v1.Deployment"
  if (answer.tag === "absent") return `${answer.detail}; install it, or name its definition with --crd FILE`
  return answer.tag === "failed" ? answer.status.message : answer.detail
}
