/**
 * Pages of HTML: the frame with its content security policy, the common look, and escaping.
 *
 * Guarantee: text of a trace cannot become markup or script.
 */

export { type Html, html } from "./html.ts"
export { page } from "./page.ts"
export { changedField, excerpts, shortened, type ValuePair } from "./shown-text.ts"
