/** Where the build puts the page: beside the command's own bundle, or next to the folder of exported modules. */

import { existsSync, readFileSync } from "node:fs"

/** What the build makes of src/ui. */
export type PageFile = "page.js" | "page.css" | "plot.js"

/** `undefined`: there is no build. */
export const builtFile = (name: PageFile): Buffer | undefined => {
  const places = [`./ui/${name}`, `../ui/${name}`, `../../dist/ui/${name}`]
  const found = places.map((place) => new URL(place, import.meta.url)).find((url) => existsSync(url))
  return found && readFileSync(found)
}
