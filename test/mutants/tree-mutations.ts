/** Changes to values that a careless, or a hostile, writer would make: fields dropped and doubled, other types, huge numbers, deep nesting. */
import fc from "fast-check"
import { copyOf, Fields, Raw, sizeOf, type Tree } from "./tree.ts"

/** A change: where, which, and with what; each number is taken modulo the choices there are. */
export interface TreeMutation {
  readonly at: number
  readonly how: number
  readonly what: number
}

const choice = fc.noBias(fc.nat())

/** Any change. */
export const treeMutation: fc.Arbitrary<TreeMutation> = fc.record({ at: choice, how: choice, what: choice })

/** What mutations take from. */
export interface Material {
  /** Another value of the same sort, parts of which are put into this one. */
  readonly donor: Tree
  /** Pieces that only the written form can have. */
  readonly raws: ReadonlyArray<Raw>
}

/** A tree of more nodes is not made: what a few bytes can make a program do is of interest, not that many bytes take time. */
const mostNodes = 5000

const awkward: ReadonlyArray<Tree> = [
  null,
  true,
  false,
  0,
  -1,
  1,
  1.5,
  -0,
  255,
  65_536,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 32,
  2 ** 53,
  2n ** 53n + 1n,
  2n ** 63n - 1n,
  2n ** 63n,
  2n ** 64n - 1n,
  -(2n ** 63n),
  1e21,
  1e308,
  5e-324,
  "",
  " ",
  "a",
  "A b",
  "0",
  "-1",
  "null",
  "true",
  "1e3",
  "1.5Gi",
  "99999999999999999999999999",
  "50%",
  "None",
  "2020-01-01T00:00:00Z",
  "9999-99-99T99:99:99Z",
  "0001-01-01T00:00:00Z",
  "10m0s",
  "../../etc/passwd",
  "a/b",
  "a.b.c.example.com/v1",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "\u0000",
  "\u001b[31mred\u001b[0m\u0007",
  "\r\n\u2028\u0085\ufeff",
  "\ud800",
  "\u{1d11e}é\u0301",
  "(a+)+$",
  "[",
  "self.x",
  "x".repeat(300),
  "y".repeat(70_000),
  [],
  new Fields([]),
  [null],
  [[]],
  [new Fields([])],
  new Fields([["", ""]]),
  new Fields([["__proto__", new Fields([["polluted", true]])]]),
  new Fields([[null, null]]),
  new Fields([["name", "x"]]),
]

/** Where a node is: in a list or a map, as a key or as a value. */
type Place =
  | { readonly type: "item"; readonly list: Tree[]; readonly index: number }
  | { readonly type: "key" | "value"; readonly fields: Fields; readonly index: number }

const placesOf = (root: Tree[]): ReadonlyArray<Place> => {
  const places: Place[] = []
  const visit = (node: Tree): void => {
    if (Array.isArray(node)) {
      for (const index of node.keys()) places.push({ type: "item", list: node, index })
      for (const item of node) visit(item)
    } else if (node instanceof Fields) {
      for (const index of node.entries.keys())
        places.push({ type: "value", fields: node, index }, { type: "key", fields: node, index })
      for (const [, value] of node.entries) visit(value)
    }
  }
  visit(root)
  return places
}

const listAt = (place: Place): unknown[] => (place.type === "item" ? place.list : place.fields.entries)

const entryAt = ({ fields, index }: Place & { type: "key" | "value" }): [Tree, Tree] =>
  fields.entries[index] as [Tree, Tree]

const read = (place: Place): Tree =>
  place.type === "item" ? (place.list[place.index] as Tree) : entryAt(place)[place.type === "key" ? 0 : 1]

const write = (place: Place, node: Tree): void => {
  if (place.type === "item") place.list[place.index] = node
  else entryAt(place)[place.type === "key" ? 0 : 1] = node
}

const pick = <Item>(items: ReadonlyArray<Item>, what: number): Item => items[what % items.length] as Item

/** The same as another type: text for a number, a list for a map, and back. */
const retyped = (node: Tree): Tree => {
  if (typeof node === "string") return node !== "" && Number.isFinite(Number(node)) ? Number(node) : [node]
  if (typeof node === "number" || typeof node === "bigint" || typeof node === "boolean") return String(node)
  if (Array.isArray(node)) return new Fields(node.map((item, index) => [String(index), item]))
  if (node instanceof Fields) return node.entries.map(([, value]) => value)
  return node === null ? new Fields([]) : null
}

/** Nearly the same. */
const tweaked = (node: Tree, what: number): Tree => {
  if (typeof node === "number") return pick([-node, node + 1, node - 1, node * 1e9, node / 7, node + 0.5], what)
  if (typeof node === "bigint") return pick([-node, node + 1n, node << 1n, node >> 1n], what)
  if (typeof node === "boolean") return !node
  if (typeof node !== "string") return node
  const middle = what % (node.length + 1)
  const [before, after] = [node.slice(0, middle), node.slice(middle)]
  const inserted = pick(["", "/", ".", "\u001b", "\n", " ", "é", "\ud800", "0", "-", "%", "~1"], what)
  return pick([before, after, node + node, `${before}${inserted}${after}`, node.toUpperCase(), after + before], what)
}

type Change = (place: Place, what: number, material: Material) => void

const changes: ReadonlyArray<Change> = [
  (place) => void listAt(place).splice(place.index, 1),
  (place) => void listAt(place).splice(place.index, 1),
  (place, what) => write(place, copyOf(pick(awkward, what))),
  (place, what) => write(place, copyOf(pick(awkward, what))),
  (place, what, { raws }) => write(place, raws.length === 0 ? null : pick(raws, what)),
  (place) => write(place, retyped(read(place))),
  (place, what) => write(place, tweaked(read(place), what)),
  (place, what) => write(place, tweaked(read(place), what)),
  (place, what, { donor }) => write(place, copyOf(read(pick(placesOf([donor]), what)))),
  (place, what) => {
    const copies = Math.min(pick([1, 2, 17, 300, 2000], what), Math.floor(mostNodes / sizeOf(read(place))))
    const list = listAt(place)
    const original = list[place.index]
    const copy = (): unknown =>
      place.type === "item" ? copyOf(read(place)) : (original as unknown[]).map((part) => copyOf(part as Tree))
    list.splice(place.index, 0, ...Array.from({ length: copies }, copy))
  },
  (place, what) => {
    const list = listAt(place)
    const other = what % list.length
    ;[list[place.index], list[other]] = [list[other], list[place.index]]
  },
  (place) => write(place, [read(place)]),
  (place) => write(place, new Fields([["x", read(place)]])),
  (place) => {
    const node = read(place)
    if (Array.isArray(node)) write(place, node[0] ?? null)
    else if (node instanceof Fields) write(place, node.entries[0]?.[1] ?? null)
  },
  // A field that another map of the value has.
  (place, what, { donor }) => {
    const found = pick(placesOf([donor]), what)
    if (place.type !== "item" && found.type !== "item")
      place.fields.entries.splice(place.index, 0, entryAt(found).map(copyOf) as [Tree, Tree])
  },
]

/** The tree after these changes; the given one stays as it is. */
export const mutatedTree = (tree: Tree, mutations: ReadonlyArray<TreeMutation>, material: Material): Tree => {
  const root: Tree[] = [copyOf(tree)]
  for (const { at, how, what } of mutations) {
    const places = placesOf(root)
    if (places.length === 0) break
    pick(changes, how)(pick(places, at), what, material)
  }
  return root[0] ?? null
}

const nested = (open: string, close: string, depth: number): Raw => new Raw(open.repeat(depth) + close.repeat(depth))

/** What JSON's syntax allows beyond its values, or nearly allows. */
export const jsonRaws: ReadonlyArray<Raw> = [
  ...["1e400", "-0.0", "01", "+1", ".5", "NaN", "-Infinity", "0x10", "1 1", "", "nul", "'a'", "//x", "{,}", "[1,]"],
  ...['"\\ud800"', '"\\u0000"', '"\\x"', '"open', '{"a":1,"a":2}', '{"a":{},"a":[]}', '{"__proto__":null}', "\u0000"],
  ...["9".repeat(400), `-${"9".repeat(5000)}`, `0.${"0".repeat(400)}1`, `1e${"9".repeat(30)}`],
]
  .map((text) => new Raw(text))
  .concat(
    [
      [0xff],
      [0x22, 0xff, 0x22],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
      [0x22, 0xc0, 0x80, 0x22],
      [0x22, 0xf4, 0x90, 0x80, 0x80, 0x22],
      [0xef, 0xbb, 0xbf, 0x31],
    ].map((bytes) => new Raw(Buffer.from(bytes))),
    [30, 600, 12_000].flatMap((depth) => [
      nested("[", "]", depth),
      nested('{"a":', "}", depth),
      nested('[{"a":', "}]", depth),
      new Raw("[".repeat(depth)),
    ]),
  )

const yamlTexts: ReadonlyArray<string> = [
  ...["&a [*a]", "*a", "&a 1", "!!binary aGk=", "!!float .nan", ".inf", "-.Inf", "0x1F", "0o17", "017", "1_000", "~"],
  ...["2020-01-01", "!foo bar", "!!map {}", "!!set {a}", "? [a]", "{<<: *a}", "{? {a: b} : c}", "\t1", "%YAML 1.1"],
  ...["|\n  text", ">-\n  folded", '"\\x"', "'open", "@at", "`", "{a: b: c}", "# comment", "\n---\n", "\n...\n", "yes"],
  ...["9".repeat(400), `0x${"f".repeat(400)}`, `0.${"1".repeat(400)}`, "1e999", "a: ".repeat(300), "- ".repeat(1000)],
  ...[`{${Array.from({ length: 300 }, (_, index) => `k${index}: &a${index} x`).join(", ")}}`, "!".repeat(2000)],
  ...["{[".repeat(500), "[".repeat(3000), "? ".repeat(500), "'".repeat(999), "!!str ".repeat(500)],
]

/** The same for YAML, in which JSON is included. */
export const yamlRaws: ReadonlyArray<Raw> = [...yamlTexts.map((text) => new Raw(text)), ...jsonRaws]

const repeated = (byte: number, times: number, rest: ReadonlyArray<number>): ReadonlyArray<number> => [
  ...new Array<number>(times).fill(byte),
  ...rest,
]

/** The same for MessagePack: types and lengths that a trace has not, and bytes that are none. */
export const messagePackRaws: ReadonlyArray<Raw> = [
  [0xc1],
  [],
  [0xc4, 2, 1, 2],
  [0xc7, 1, 5, 9],
  [0xd4, 0, 0],
  [0xd6, 0xff, 0, 0, 0, 0],
  [0xca, 0x7f, 0xc0, 0, 0],
  [0xcb, 0x7f, 0xf0, 0, 0, 0, 0, 0, 0],
  [0xcb, 0x80, 0, 0, 0, 0, 0, 0, 0],
  [0xcf, 0, 0, 0, 0, 0, 0, 0, 1],
  [0xcf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
  [0xd3, 0x80, 0, 0, 0, 0, 0, 0, 0],
  [0xd9, 1, 0xff],
  [0xa3, 0xed, 0xa0, 0x80],
  [0xdb, 0xff, 0xff, 0xff, 0xff],
  [0xdb, 0, 0, 0, 1, 0x61],
  [0xdd, 0xff, 0xff, 0xff, 0xff],
  [0xdd, 0, 0xff, 0xff, 0xff, 0xc0],
  [0xdf, 0xff, 0xff, 0xff, 0xff],
  [0xdf, 0, 0, 0, 1, 0xa1, 0x61, 1],
  [0xc6, 0x7f, 0xff, 0xff, 0xff],
  [0x82, 0xa1, 0x61, 1, 0xa1, 0x61, 2],
  [0x81, 0x90, 0x80],
  repeated(0x91, 600, [0xc0]),
  repeated(0x91, 60_000, [0xc0]),
  repeated(0x81, 20_000, []),
  Array.from({ length: 30_000 }, (_, index) => [0x81, 0xa1, 0x61][index % 3] as number),
].map((bytes) => new Raw(Buffer.from(bytes)))
