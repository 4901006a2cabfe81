/** The colours of the style sheet for what is drawn on a canvas. */
import type { Palette } from "./paint.ts"

/** Reads the variables `--tone-…` of the element. */
export const paletteOf = (element: Element): Palette => {
  const style = getComputedStyle(element)
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true })
  const colour = (name: string): number => {
    if (context === null) return 0
    context.clearRect(0, 0, 1, 1)
    context.fillStyle = style.getPropertyValue(`--tone-${name}`).trim()
    context.fillRect(0, 0, 1, 1)
    return new Uint32Array(context.getImageData(0, 0, 1, 1).data.buffer)[0] ?? 0
  }
  return {
    ...{ plain: colour("plain"), good: colour("good"), waiting: colour("waiting"), bad: colour("bad") },
    ...{ over: colour("over"), changed: colour("changed"), hatch: colour("hatch"), late: colour("late") },
  }
}
