/** The help of the interactive view: its keys. Those of SimKube's xray do the same here. */

const keys: ReadonlyArray<readonly [key: string, help: string]> = [
  ["↑ k, ↓ j", "move, or scroll the object"],
  ["PgUp ^B, PgDn ^F", "a page up, down"],
  ["Home g, End G", "to the beginning, the end"],
  ["← h, → l", "to the events of the bar before, after; in an object: aside"],
  ["Space, Enter", "open the object"],
  ["Tab", "between list and object; the list then takes the object along"],
  ["[ ]", "its state before, after"],
  ["Esc", "close one level; quits at the last one"],
  ["/", "search: in the list by kind, namespace and name, in an object in its text"],
  ["n N", "the next, the previous match"],
  ["f", "filter, such as: kind=pod ns=shop name=web-* !name=*-test checkout"],
  ["o", "only the events of this object"],
  ["t", "the objects that existed then, below their owners"],
  ["!", "the next event with an error or a warning"],
  ["r", "times since the first event, or of this machine's time zone"],
  ["?", "this help"],
  ["q, ^C", "quit"],
]

const widest = Math.max(...keys.map(([key]) => key.length))

/** A line each. */
export const helpLines: ReadonlyArray<string> = [
  "keys",
  "",
  ...keys.map(([key, help]) => `  ${key.padEnd(widest)}   ${help}`),
  "",
  "signs",
  "",
  "  ·  it existed at the start      +  created      ~  changed      -  deleted",
  "  ?  it was gone when the recorder looked: when it was deleted is not known",
  "  2E 1W   errors and warnings, as reel validate finds them",
]
