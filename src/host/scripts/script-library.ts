/**
 * `kubereel/host` for the scripts that a command loads, wherever they are: beside a mounted script nothing is installed.
 *
 * In a build it is a bundle without imports beside the command's own; from a checkout without bundles, Node runs the sources.
 */
import { existsSync } from "node:fs"
import { registerHooks } from "node:module"
import { markOf } from "./thread/script-marks.ts"

const libraryUrl = (): string => {
  const bundles = ["./script-library/host.js", "../../../dist/script-library/host.js"]
  const found = bundles.map((path) => new URL(path, import.meta.url)).find((url) => existsSync(url))
  return (found ?? new URL("../controllers.ts", import.meta.url)).href
}

let isProvided = false

/**
 * From now on, `import "kubereel/host"` gives all scripts of this thread one copy of the library: that of the URL, or of the build. What a script imports
 * relatively has the script's mark.
 */
export const provideScriptLibrary = (url = libraryUrl()): void => {
  if (isProvided) return
  isProvided = true
  registerHooks({
    resolve: (specifier, context, next) => {
      if (specifier === "kubereel/host") return { url, shortCircuit: true }
      const found = next(specifier, context)
      const mark = markOf(context.parentURL ?? "")
      return mark !== undefined && /^\.{1,2}\//.test(specifier) ? { ...found, url: `${found.url}${mark}` } : found
    },
  })
}
