/** The help of the interactive view: its keys. Those of SimKube's xray do the same here. */

import { helpTable } from "../../command-line/help.ts"

const keys: ReadonlyArray<readonly [key: string, help: string]> = [
  ["↑ k, ↓ j", "move, or scroll the object"],
  ["PgUp ^B, PgDn ^F", "a page up, down"],
  ["Home g, End G", "to the beginning, the end"],
  ["← h, → l", "to the events of the bar before, after; in an object: aside"],
  ["Space, Enter", "open the object"],
  ["Tab", "between list and object; the list then takes the object along"],
  ["[ ]", "its state before, after"],
  ["Esc", "close one level: the object, the tree, the filter"],
  ["/", "search: in the list by kind, namespace and name; in an object in its text"],
  ["n N", "the next, the previous match"],
  ["f", "filter while you type, such as: kind=deploy ns=shop name=web-* !name=*-test word"],
  ["o", "only the events of this object"],
  ["t", "the objects that existed then, below their owners"],
  ["!", "the next event with an error or a warning, or gap"],
  ["< >", "of a recording: the events before those in the list, and after them, up to now"],
  ["r", "times since the first event, or of this machine's time zone"],
  ["?", "this help"],
  ["q, ^C", "quit"],
]

const signs: ReadonlyArray<readonly [sign: string, meaning: string]> = [
  ["·", "it existed at the start"],
  ["+ ~ -", "created, changed, deleted"],
  ["?", "it was gone when the recorder looked: when it was deleted is not known"],
  ["!", "changes are missing: a gap, a kind that is incomplete, or a file that is cut off"],
  ["2E 1W", "errors and warnings, as reel validate finds them"],
]

/** A line each, of at most so many columns where words are short. */
export const helpLines = (columns: number): ReadonlyArray<string> => [
  "keys",
  "",
  ...helpTable(keys, columns),
  "",
  "signs",
  "",
  ...helpTable(signs, columns),
]
