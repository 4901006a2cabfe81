/** Where the build puts the page: beside the command's own bundle, or next to the folder of exported modules. */

import { existsSync, readFileSync } from "node:fs"

/** What the build makes of src/ui. */
export type PageFile = "page.js" | "page.css" | "plot.js" | "file.js"

/** `undefined`: there is no build. */
export const builtFile = (name: PageFile): Buffer | undefined => {
  // Next to the modules of src lies the source of the style, which is not all of it: the script is only in a build.
  const folders = ["./ui/", "../ui/", "../../dist/ui/"].map((place) => new URL(place, import.meta.url))
  const folder = folders.find((url) => existsSync(new URL("page.js", url)))
  const found = folder && new URL(name, folder)
  return found && existsSync(found) ? readFileSync(found) : undefined
}
