/** JSON, read into a tree. Enough for objects of an API server: numbers keep their text. */

export enum Kind {
  /** What is not there, or is no JSON. */
  Nothing,
  Null,
  Bool,
  Number,
  String,
  Array,
  Object,
}

/** Deeper values are refused, because each level takes part of the stack that asconfig.json sets. */
const deepest: i32 = 1000

const noValues: Value[] = []
const noNames: string[] = []

export class Value {
  /** Names of an object's members. */
  names: string[] = noNames
  /** Values of an object's members, or elements of an array. */
  values: Value[] = noValues

  constructor(
    readonly kind: Kind,
    /** Of a string, without escapes; of a number or boolean as it is written. */
    readonly content: string = "",
  ) {}

  get isThere(): bool {
    return this.kind != Kind.Nothing
  }

  /** A member; of kind `Nothing` if there is none, or this is no object. */
  get(name: string): Value {
    const index = this.names.indexOf(name)
    return index < 0 ? nothing : this.values[index]
  }

  /** A member that is a string; empty if there is no such member. */
  text(name: string): string {
    const member = this.get(name)
    return member.kind == Kind.String ? member.content : ""
  }

  /** The elements of a member that is an array; none if there is no such member. */
  list(name: string): Value[] {
    const member = this.get(name)
    return member.kind == Kind.Array ? member.values : noValues
  }
}

const nothing = new Value(Kind.Nothing)

/** Reads exactly one value; one of kind `Nothing` if the text is not JSON. */
export function parse(text: string): Value {
  const parser = new Parser(text)
  const value = parser.value()
  return parser.isAtEnd ? value : nothing
}

/** A string as JSON, with its quotes. */
export function quoted(text: string): string {
  let quoted = '"'
  let start = 0
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit >= 0x20 && unit != 0x22 && unit != 0x5c) continue
    quoted += text.substring(start, index) + "\\u" + unit.toString(16).padStart(4, "0")
    start = index + 1
  }
  return quoted + text.substring(start) + '"'
}

class Parser {
  private offset: i32 = 0
  private depth: i32 = 0
  /** Once something is malformed, whatever is read is meaningless. */
  private hasFailed: bool = false

  constructor(private readonly source: string) {}

  get isAtEnd(): bool {
    return this.peek() == 0 && this.offset == this.source.length && !this.hasFailed
  }

  value(): Value {
    const first = this.peek()
    if (first == 0x22) return new Value(Kind.String, this.string())
    if (first == 0x7b || first == 0x5b) return this.nested(first == 0x7b)
    if (first == 0x2d || (first >= 0x30 && first <= 0x39)) return this.number()
    if (first == 0x74) return this.word("true", Kind.Bool)
    if (first == 0x66) return this.word("false", Kind.Bool)
    return this.word("null", Kind.Null)
  }

  /** The next character that is no space; 0 at the end. */
  private peek(): i32 {
    let unit = this.unit()
    while (unit == 0x20 || unit == 0x0a || unit == 0x0d || unit == 0x09) {
      this.offset++
      unit = this.unit()
    }
    return unit
  }

  private unit(): i32 {
    return this.offset < this.source.length ? this.source.charCodeAt(this.offset) : 0
  }

  private fail(): void {
    this.hasFailed = true
    this.offset = this.source.length
  }

  private takes(character: i32): bool {
    const isNext = this.peek() == character
    if (isNext) this.offset++
    return isNext
  }

  private word(word: string, kind: Kind): Value {
    if (this.source.substr(this.offset, word.length) == word) this.offset += word.length
    else this.fail()
    return new Value(kind, word)
  }

  /** The characters that numbers are made of: the API server writes no other runs of them. */
  private number(): Value {
    const start = this.offset
    for (let unit = this.unit(); "+-.0123456789Ee".includes(String.fromCharCode(unit)); unit = this.unit()) this.offset++
    return new Value(Kind.Number, this.source.substring(start, this.offset))
  }

  private nested(isObject: bool): Value {
    const value = new Value(isObject ? Kind.Object : Kind.Array)
    if (this.depth == deepest) this.fail()
    this.offset++
    this.depth++
    const close = isObject ? 0x7d : 0x5d
    value.values = []
    if (isObject) value.names = []
    let isOver = this.takes(close)
    while (!isOver && !this.hasFailed) {
      if (isObject) {
        this.peek()
        value.names.push(this.string())
        if (!this.takes(0x3a)) this.fail()
      }
      value.values.push(this.value())
      isOver = this.takes(close)
      if (!isOver && !this.takes(0x2c)) this.fail()
    }
    this.depth--
    return value
  }

  private string(): string {
    if (this.unit() != 0x22) this.fail()
    this.offset++
    let text = ""
    let start = this.offset
    while (!this.hasFailed) {
      const unit = this.unit()
      if (unit == 0x22) break
      if (unit < 0x20) this.fail()
      else if (unit == 0x5c) {
        text += this.source.substring(start, this.offset) + this.escape()
        start = this.offset
      } else this.offset++
    }
    if (this.hasFailed) return ""
    this.offset++
    return text + this.source.substring(start, this.offset - 1)
  }

  private escape(): string {
    this.offset++
    const letter = this.unit()
    this.offset++
    if (letter == 0x22 || letter == 0x5c || letter == 0x2f) return String.fromCharCode(letter)
    if (letter == 0x62) return "\b"
    if (letter == 0x66) return "\f"
    if (letter == 0x6e) return "\n"
    if (letter == 0x72) return "\r"
    if (letter == 0x74) return "\t"
    const digits = this.source.substr(this.offset, 4)
    let code = 0
    for (let index = 0; index < 4; index++) {
      const digit = index < digits.length ? "0123456789abcdef".indexOf(digits.charAt(index).toLowerCase()) : -1
      if (digit < 0 || letter != 0x75) {
        this.fail()
        return ""
      }
      code = code * 16 + digit
    }
    this.offset += 4
    return String.fromCharCode(code)
  }
}
