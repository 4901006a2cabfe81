/** The blocks of data of a file: compressed and written as text. */

import { decompress } from "fzstd"

/** A block; its text is asked for whenever it is read, so that it is kept once. */
export interface Block {
  readonly name: "states" | "events"
  readonly text: () => string
}

/** What the document of a file contains, in its order. */
export interface InlinedData {
  /** The JSON of the facts (facts.ts). */
  readonly facts: string
  readonly blocks: ReadonlyArray<Block>
}

/** What a document contains; `undefined`: it is not a file, and its page has a server. */
export const inlinedData = (document: Document): InlinedData | undefined => {
  const facts = document.getElementById("facts")?.textContent
  if (facts == null) return undefined
  const elements = [...document.querySelectorAll<HTMLElement>("script[data-states],script[data-events]")]
  const blocks = elements.map(
    (element): Block => ({
      name: element.dataset.states === undefined ? "events" : "states",
      text: () => element.textContent ?? "",
    }),
  )
  return { facts, blocks }
}

/** The bytes of a block. @throws what says that the file is damaged */
export const bytesOf = (block: Block): Uint8Array => decompress(fromBase64(block.text()))

const fromBase64 = (text: string): Uint8Array => {
  // Not in browsers of 2024, where it takes ten times as long.
  if ("fromBase64" in Uint8Array && typeof Uint8Array.fromBase64 === "function") return Uint8Array.fromBase64(text)
  const characters = atob(text)
  const bytes = new Uint8Array(characters.length)
  for (let at = 0; at < bytes.length; at++) bytes[at] = characters.charCodeAt(at)
  return bytes
}
