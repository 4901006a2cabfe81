/**
 * Text of messages: untrusted text made safe to print, lists of words, and "did you mean".
 *
 * Guarantee: pure functions of text, which import nothing, never throw, and take time in proportion to the text. What {@link quoted} and
 * {@link visible} return cannot control a terminal or forge a line of a log.
 */

export { enumerated, quoted, visible, visibleInJson } from "./quoted.ts"
export { nearest } from "./spelling.ts"
