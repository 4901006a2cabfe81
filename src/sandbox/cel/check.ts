/**
 * Types of expressions: what CEL's own checker decides. An expression that passes fails at run time only for its values, or where
 * the type is `dyn`. Types are inferred by unification: a literal `[]` is a list of something that its use decides.
 */

import { compiledPattern } from "./functions/patterns.ts"
import { parseGoDuration, parseTimestamp } from "./functions/time-texts.ts"
import { CompileError, EvaluationError } from "./problems.ts"
import type { Expression, Fold } from "./syntax.ts"
import { bool, type CelType, dyn, formatType, int, listOf, mapOf, optionalOf, type Signature, simple } from "./types.ts"
import { typeNameOf, type Value } from "./values.ts"

// Literals that a function could only fail for: they are refused when the expression is compiled, not when it is evaluated.

const isPattern = (text: string): boolean => {
  try {
    return compiledPattern(text) !== undefined
  } catch (error) {
    if (error instanceof EvaluationError) return false
    throw error
  }
}

interface Rule {
  /** Which argument; the receiver of a method is the first. */
  readonly index: number
  readonly isValid: (text: string) => boolean
}

const rules: ReadonlyMap<string, Rule> = new Map([
  ...["matches", "find", "findAll"].map((name) => [name, { index: 1, isValid: isPattern }] as const),
  ["duration", { index: 0, isValid: (text: string) => parseGoDuration(text) !== undefined }],
  ["timestamp", { index: 0, isValid: (text: string) => parseTimestamp(text) !== undefined }],
])

/** Throws {@link CompileError}. */
const checkLiterals = (name: string, args: ReadonlyArray<Expression>): void => {
  const rule = rules.get(name)
  const argument = rule === undefined ? undefined : args[rule.index]
  if (argument?.op !== "constant" || typeof argument.value !== "string" || rule?.isValid(argument.value) !== false)
    return
  throw new CompileError({ problem: `invalid ${name} argument`, position: argument.position })
}

interface Declarations {
  readonly variables: ReadonlyMap<string, CelType>
  /** Overloads by name. */
  readonly functions: ReadonlyMap<string, ReadonlyArray<Signature>>
}

interface Checked {
  readonly type: CelType
  /** The declared variables that the expression reads. */
  readonly reads: ReadonlySet<string>
}

/** Throws {@link CompileError}. */
export const checkExpression = (expression: Expression, declarations: Declarations): Checked => {
  const checker = new Checker(declarations)
  const type = checker.typeOf(expression, new Map())
  return { type: checker.resolved(type), reads: checker.reads }
}

type Locals = ReadonlyMap<string, CelType>
type Bindings = ReadonlyMap<string, CelType>

class Checker {
  readonly #declarations: Declarations
  #bindings: Bindings = new Map()
  #made = 0
  readonly reads = new Set<string>()

  constructor(declarations: Declarations) {
    this.#declarations = declarations
  }

  typeOf(at: Expression, locals: Locals): CelType {
    const inner = (child: Expression, more: Locals = locals): CelType => this.resolved(this.typeOf(child, more))
    switch (at.op) {
      case "constant":
        return constantType(at.value)
      case "identifier": {
        const type = locals.get(at.name)
        if (type !== undefined) return type
        const declared = this.#declarations.variables.get(at.name)
        if (declared === undefined) return refuse(`undeclared reference to '${at.name}' (in container '')`, at)
        this.reads.add(at.name)
        return declared
      }
      case "select":
        return this.#selected(inner(at.operand), at.field, at.isOptional, at)
      case "has":
        this.#selected(inner(at.operand), at.field, false, at)
        return bool
      case "index":
        return this.#indexed(inner(at.operand), inner(at.key), at.isOptional, at)
      case "list":
        return listOf(this.#joined(at.items.map((item) => [item, inner(item)])))
      case "map": {
        const keys = at.entries.map(([key]) => [key, inner(key)] as const)
        for (const [key, type] of keys)
          if (!keyKinds.has(type.kind)) refuse(`unsupported map key type: ${formatType(type)}`, key)
        return mapOf(this.#joined(keys), this.#joined(at.entries.map(([, value]) => [value, inner(value)])))
      }
      case "conditional":
        return this.#call("_?_:_", false, [inner(at.condition), inner(at.yes), inner(at.no)], at)
      case "and":
      case "or":
        return this.#call(at.op === "and" ? "_&&_" : "_||_", false, [inner(at.left), inner(at.right)], at)
      case "call":
        checkLiterals(at.name, at.args)
        return this.#call(
          at.name,
          at.isMethod,
          // What a text is formatted with may be of any types.
          at.args.map((arg) =>
            at.name === "format" && arg.op === "list" ? this.#mixed(arg.items, inner) : inner(arg),
          ),
          at,
        )
      case "fold":
        return this.#folded(at, inner(at.range), locals, inner)
      case "optional-map": {
        const operand = inner(at.operand)
        if (operand.kind !== "optional" && operand.kind !== "dyn")
          return noOverload(at.isFlat ? "optFlatMap" : "optMap", true, [operand], at)
        const body = inner(at.body, new Map(locals).set(at.variable, operand.kind === "optional" ? operand.item : dyn))
        if (!at.isFlat) return optionalOf(body)
        return body.kind === "optional" || body.kind === "dyn" ? body : noOverload("optFlatMap", true, [operand], at)
      }
    }
  }

  /** The type with everything that is known about its variables; what is not known is `dyn`. */
  resolved(type: CelType): CelType {
    switch (type.kind) {
      case "parameter": {
        const bound = this.#bindings.get(type.name)
        return bound === undefined ? type : this.resolved(bound)
      }
      case "list":
        return listOf(this.resolved(type.item))
      case "optional":
        return optionalOf(this.resolved(type.item))
      case "map":
        return mapOf(this.resolved(type.key), this.resolved(type.value))
      default:
        return type
    }
  }

  #selected(operand: CelType, field: string, isOptional: boolean, at: Expression): CelType {
    if (operand.kind === "optional") return optionalOf(unwrapped(this.#selected(operand.item, field, isOptional, at)))
    const plain = this.#fieldType(operand, field, at)
    return isOptional ? optionalOf(plain) : plain
  }

  #fieldType(operand: CelType, field: string, at: Expression): CelType {
    switch (operand.kind) {
      case "dyn":
      case "parameter":
        return dyn
      case "map":
        return operand.value
      case "object":
        return operand.fields.get(field) ?? refuse(`undefined field '${field}'`, at)
      default:
        return refuse(`type '${formatType(operand)}' does not support field selection`, at)
    }
  }

  #indexed(operand: CelType, key: CelType, isOptional: boolean, at: Expression): CelType {
    if (operand.kind === "optional") return optionalOf(unwrapped(this.#indexed(operand.item, key, isOptional, at)))
    const item = this.#itemType(operand, key)
    if (item === undefined) return noOverload(isOptional ? "_[?_]" : "_[_]", false, [operand, key], at)
    return isOptional ? optionalOf(item) : item
  }

  #itemType(operand: CelType, key: CelType): CelType | undefined {
    if (operand.kind === "dyn" || operand.kind === "parameter") return dyn
    if (operand.kind === "list") return this.#fits(key, int) ? operand.item : undefined
    return operand.kind === "map" && this.#fits(key, operand.key) ? operand.value : undefined
  }

  #folded(
    { macro, variables, filter, body, range }: Fold,
    over: CelType,
    locals: Locals,
    inner: (child: Expression, locals: Locals) => CelType,
  ): CelType {
    const [one, other] = variables
    const first = other === undefined ? elementType(over) : indexType(over)
    if (first === undefined)
      return refuse(
        `expression of type '${formatType(over)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
        range,
      )
    const within = new Map(locals).set(one, first)
    if (other !== undefined) within.set(other, over.kind === "map" ? over.value : (elementType(over) ?? dyn))
    const requireBool = (child: Expression): void => {
      const type = inner(child, within)
      if (!this.#fits(type, bool))
        refuse(`expected type '${formatType(bool)}' but found '${formatType(this.resolved(type))}'`, child)
    }
    if (filter !== undefined) requireBool(filter)
    switch (macro) {
      case "all":
      case "exists":
      case "exists_one":
        requireBool(body)
        return bool
      case "filter":
        requireBool(body)
        return listOf(first)
      case "map":
      case "transformList":
        return listOf(inner(body, within))
      case "transformMap":
        return mapOf(first, inner(body, within))
      case "transformMapEntry":
        return inner(body, within)
    }
  }

  #mixed(items: ReadonlyArray<Expression>, inner: (child: Expression) => CelType): CelType {
    for (const item of items) inner(item)
    return listOf(dyn)
  }

  /** The one type of all; they must agree unless some are `dyn`. */
  #joined(items: ReadonlyArray<readonly [Expression, CelType]>): CelType {
    const [first] = items
    if (first === undefined) return this.#variable()
    let joined = first[1]
    for (const [item, type] of items.slice(1)) {
      if (!this.#fits(type, joined))
        refuse(
          `expected type '${formatType(this.resolved(joined))}' but found '${formatType(this.resolved(type))}'`,
          item,
        )
      if (type.kind === "dyn") joined = dyn
    }
    return joined
  }

  #call(name: string, isMethod: boolean, args: ReadonlyArray<CelType>, at: Expression): CelType {
    const known = this.#declarations.functions.get(name)
    if (known === undefined) return refuse(`undeclared reference to '${name}' (in container '')`, at)
    const before = this.#bindings
    const results: CelType[] = []
    let after: Bindings | undefined
    for (const overload of known) {
      if (overload.isMethod !== isMethod || overload.parameters.length !== args.length) continue
      this.#bindings = before
      const result = this.#applied(overload, args)
      if (result === undefined) continue
      after ??= this.#bindings
      results.push(result)
    }
    this.#bindings = after ?? before
    const [first] = results
    if (first === undefined) return noOverload(name, isMethod, args, at)
    const text = formatType(this.resolved(first))
    return results.every((result) => formatType(this.resolved(result)) === text) ? first : dyn
  }

  /** The result of an overload, or `undefined` if the arguments do not fit. */
  #applied({ parameters, result }: Signature, args: ReadonlyArray<CelType>): CelType | undefined {
    const fresh = new Map<string, CelType>()
    const renamed = (type: CelType): CelType => {
      if (type.kind === "parameter") {
        const known = fresh.get(type.name) ?? this.#variable()
        fresh.set(type.name, known)
        return known
      }
      if (type.kind === "list") return listOf(renamed(type.item))
      if (type.kind === "optional") return optionalOf(renamed(type.item))
      return type.kind === "map" ? mapOf(renamed(type.key), renamed(type.value)) : type
    }
    const wanted = parameters.map(renamed)
    const isFitting = wanted.every((type, index) => this.#fits(args[index] ?? dyn, type))
    return isFitting ? this.resolved(renamed(result)) : undefined
  }

  #variable(): CelType {
    this.#made++
    return { kind: "parameter", name: `T${this.#made}` }
  }

  /** Whether a value of one type may stand for another; binds variables of both. */
  #fits(given: CelType, wanted: CelType): boolean {
    const from = this.resolved(given)
    const to = this.resolved(wanted)
    if (from.kind === "parameter") return this.#bind(from.name, to)
    if (to.kind === "parameter") return this.#bind(to.name, from)
    if (from.kind === "dyn" || to.kind === "dyn") return true
    if (from.kind === "null_type") return nullable.has(to.kind)
    if (to.kind === "null_type") return nullable.has(from.kind)
    if (from.kind === "list") return to.kind === "list" && this.#fits(from.item, to.item)
    if (from.kind === "optional") return to.kind === "optional" && this.#fits(from.item, to.item)
    if (from.kind === "map")
      return to.kind === "map" && this.#fits(from.key, to.key) && this.#fits(from.value, to.value)
    if (from.kind === "object" || from.kind === "opaque") return to.kind === from.kind && to.name === from.name
    return from.kind === to.kind
  }

  #bind(name: string, type: CelType): boolean {
    if (type.kind === "parameter" && type.name === name) return true
    if (mentions(type, name)) return false
    this.#bindings = new Map(this.#bindings).set(name, type)
    return true
  }
}

const keyKinds: ReadonlySet<CelType["kind"]> = new Set(["string", "int", "uint", "bool", "dyn", "parameter"])
const nullable: ReadonlySet<CelType["kind"]> = new Set(["null_type", "object", "opaque", "timestamp", "duration"])

const constantType = (value: Value): CelType => {
  if (value === null) return simple("null_type")
  const name = typeNameOf(value)
  switch (name) {
    case "int":
    case "uint":
    case "double":
    case "string":
    case "bool":
    case "bytes":
      return simple(name)
    default:
      return dyn
  }
}

const mentions = (type: CelType, name: string): boolean => {
  if (type.kind === "parameter") return type.name === name
  if (type.kind === "list" || type.kind === "optional") return mentions(type.item, name)
  return type.kind === "map" && (mentions(type.key, name) || mentions(type.value, name))
}

const unwrapped = (type: CelType): CelType => (type.kind === "optional" ? type.item : type)

const elementType = (range: CelType): CelType | undefined => {
  if (range.kind === "list") return range.item
  if (range.kind === "map") return range.key
  return range.kind === "dyn" || range.kind === "parameter" ? dyn : undefined
}

const indexType = (range: CelType): CelType | undefined => {
  if (range.kind === "list") return int
  if (range.kind === "map") return range.key
  return range.kind === "dyn" || range.kind === "parameter" ? dyn : undefined
}

const refuse = (problem: string, at: Expression): never => {
  throw new CompileError({ problem, position: at.position })
}

const noOverload = (name: string, isMethod: boolean, args: ReadonlyArray<CelType>, at: Expression): never => {
  const [receiver, ...rest] = args.map(formatType)
  const shown = isMethod ? `${receiver}.(${rest.join(", ")})` : `(${args.map(formatType).join(", ")})`
  return refuse(`found no matching overload for '${name}' applied to '${shown}'`, at)
}
