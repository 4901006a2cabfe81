/**
 * The files of a modules' directory as ConfigMaps: one for each module, and one for what scripts import { CommandFailed } from "../../command-line/exit-codes.ts"
import from beside them. A module that is changed is then
 * replaced without a restart of the pod; other files of the directory are left out.
 */
import { readdir, readFile } from "node:fs/promises"
import { basename, join } from "node:path"
import type { ModuleSource } from "../../../host/modules/module-listing.ts"
import type { ModuleConfigMap } from "../../../k8s/index.ts"
import { CommandFailed } from "../../command-line/exit-codes.ts"

/** Bytes of all values: the API server refuses more. */
const largestConfigMap = 1024 * 1024

/** What scripts import: scripts and data, but no tests and no types. */
const imported = /\.(?:[cm]?[jt]s|json)$/
const notImported = /\.(?:test|spec|d)\.[cm]?[jt]s$/

/** `name`: of the host, before each name. Rejects with CommandFailed or the error of the system. */
export const moduleConfigMapsOf = async (
  directory: string,
  name: string,
  sources: ReadonlyArray<ModuleSource>,
): Promise<ReadonlyArray<ModuleConfigMap>> => {
  const maps: ModuleConfigMap[] = []
  for (const { file, path, codePath } of sources)
    maps.push(await configMapOf(`${name}-module-${file.name}`, `module ${file.name}`, [path, codePath]))
  if (sources.every(({ form }) => form === "wasm")) return maps
  const taken = new Set(sources.flatMap(({ path, codePath }) => [basename(path), basename(codePath)]))
  const others = (await readdir(directory))
    .filter((each) => imported.test(each) && !notImported.test(each) && !each.startsWith(".") && !taken.has(each))
    .sort()
  if (others.length > 0)
    maps.push(
      await configMapOf(
        `${name}-imports`,
        "what scripts may import",
        others.map((each) => join(directory, each)),
      ),
    )
  return maps
}

const configMapOf = async (name: string, subject: string, paths: ReadonlyArray<string>): Promise<ModuleConfigMap> => {
  const data: Record<string, string> = {}
  const binaryData: Record<string, string> = {}
  let bytes = 0
  for (const path of paths) {
    const file = basename(path)
    if (!/^[-._a-zA-Z0-9]{1,253}$/.test(file))
      throw new CommandFailed(
        `${JSON.stringify(file)} cannot be a key of a ConfigMap: rename it to letters, digits, -, _ and .`,
      )
    const content = await readFile(path)
    bytes += content.length
    const text = content.toString("utf8")
    if (Buffer.from(text).equals(content) && !path.endsWith(".wasm")) data[file] = text
    else binaryData[file] = content.toString("base64")
  }
  if (bytes > largestConfigMap)
    throw new CommandFailed(
      `${subject} has ${(bytes / 1e6).toFixed(1)} MB, and a ConfigMap holds 1 MiB: put the modules into an image or onto a volume ` +
        "(--modules image, --modules claim/NAME)",
    )
  return { name, data, binaryData }
}
