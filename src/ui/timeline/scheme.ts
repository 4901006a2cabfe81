/** Light or dark, which the style sheet reads from the document's element. */

import { useEffect, useState } from "preact/hooks"

/** `auto` follows the system. Its changes redraw what is on a canvas. */
export const useScheme = (theme: "auto" | "light" | "dark"): "light" | "dark" => {
  const [isDark, setDark] = useState(() => matchMedia("(prefers-color-scheme: dark)").matches)
  useEffect(() => {
    const system = matchMedia("(prefers-color-scheme: dark)")
    const onChange = (): void => setDark(system.matches)
    system.addEventListener("change", onChange)
    return () => system.removeEventListener("change", onChange)
  }, [])
  const scheme = theme === "auto" ? (isDark ? "dark" : "light") : theme
  // Before the canvases below read their colours.
  document.documentElement.dataset.scheme = scheme
  return scheme
}
