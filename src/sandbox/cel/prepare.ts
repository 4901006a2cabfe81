/**
 * Makes the library's expressions Kubernetes': equality of sets and keyed lists, `has()` of anything, literals of one type only, functions
 * that replace the library's, and a count of what loops evaluate.
 */

import { compilePattern } from "../schema/pattern.ts"
import { CompileError, fail, step } from "./evaluation.ts"
import { type Check, type CheckedType, type Checker, calledName, type Node } from "./node.ts"
import { areEqual, concatenated, isOptional, type Value } from "./values.ts"

/** The API server's; deeper trees are refused. */
const deepest = 250

const loops: ReadonlySet<string> = new Set([
  ...["all", "exists", "exists_one", "existsOne", "map", "filter"],
  ...["transformList", "transformMap", "transformMapEntry"],
])

/** Methods that the library has beyond CEL's and Kubernetes'. */
const refusedMethods: ReadonlySet<string> = new Set(["bind", "json", "hex", "base64", "at", "string"])

/** Variables, fields and items. */
const reading: ReadonlySet<string> = new Set(["id", ".", "[]", ".?", "[?]"])

/** Operators whose operands have a type that is not null's. */
const typedOperators: ReadonlySet<string> = new Set(["+", "-", "*", "/", "%", "<", "<=", ">", ">=", "!_", "-_"])

/** Functions whose arguments may be null; the receiver of a method never is. */
const anyArguments: ReadonlySet<string> = new Set([
  ...["type", "dyn", "has", "of", "ofNonZeroValue", "or", "orValue", "optMap", "optFlatMap"],
  ...["indexOf", "lastIndexOf", ...loops],
])

const largestInteger = 2n ** 63n

export const undeclared = (name: string): string => `undeclared reference to '${name}' (in container '')`

interface Prepared {
  /** The variables that the expression reads. */
  readonly reads: ReadonlySet<string>
  /** Calls with literals only, which can be evaluated at once: times and durations. */
  readonly constants: ReadonlyArray<Node>
}

/**
 * Functions of `replaced` are called by their name with a `_` behind it: the library's own cannot be replaced. Throws
 * {@link CompileError}.
 */
export const prepare = (root: Node, replaced: ReadonlySet<string>): Prepared => {
  const preparation = new Preparation(replaced)
  preparation.visit(root, 0)
  return preparation
}

class Preparation implements Prepared {
  readonly reads = new Set<string>()
  readonly constants: Node[] = []
  readonly #replaced: ReadonlySet<string>

  constructor(replaced: ReadonlySet<string>) {
    this.#replaced = replaced
  }

  /** Returns the number of nodes. */
  visit(node: Node, depth: number): number {
    if (depth > deepest) refuse("expression recursion limit exceeded", node)
    node.meta.async = false
    if (node.op === "value" && typeof node.args === "bigint" && node.args > largestInteger)
      refuse("Syntax error: invalid int literal", node)
    if (node.op === "id") this.reads.add(String(node.args))
    if (node.op === "call" || node.op === "rcall") this.#call(node)
    const parts = partsOf(node)
    const sizes = parts.map((part) => this.visit(part, depth + 1))
    if (reading.has(node.op)) declared(node)
    if (node.op === "call" && calledName(node) === "type") untyped(parts[0])
    for (const part of typedParts(node, parts)) notNull(part)
    if (node.op === "list" || node.op === "map") literal(node)
    else if (node.op === "+") addition(node, parts)
    else if (node.op === "in") membership(node, parts)
    else if (node.op === "==" || node.op === "!=") equality(node, parts)
    else if (node.op === "rcall" && isLoop(node))
      for (const [index, part] of parts.entries()) if (index > 1) counted(part, sizes[index] ?? 1)
    return sizes.reduce((sum, size) => sum + size, 1)
  }

  #call(node: Node): void {
    const call = node.args as [string, ...unknown[]]
    const [name] = call
    if (node.op === "rcall" && refusedMethods.has(name)) refuse(undeclared(name), node)
    const parts = partsOf(node)
    if (name === "has") field(node, parts)
    else if (name === "format" && node.op === "rcall" && parts[1]?.op === "list") mixed(parts[1])
    else if (["duration", "timestamp"].includes(name) && parts[0]?.op === "value") this.constants.push(node)
    else if (["matches", "find", "findAll"].includes(name)) pattern(name, parts[1])
    if (this.#replaced.has(name)) call[0] = `${name}_`
  }
}

const refuse = (problem: string, { start }: Node): never => {
  throw new CompileError({ problem, position: start })
}

const isLoop = (node: Node): boolean =>
  loops.has(calledName(node)) && (node.meta.alternate !== undefined || node.meta.macro !== undefined)

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && "meta" in value

/** The nodes below; the receiver of a method is the first. */
const partsOf = ({ op, args }: Node): ReadonlyArray<Node> => (op === "value" ? [] : [args].flat(3).filter(isNode))

const overload = (checker: Checker, name: string, types: ReadonlyArray<CheckedType>, at: Node): never => {
  const shown = types.map((type) => type.name).join(", ")
  throw checker.createError("no_such_overload", `found no matching overload for '${name}' applied to '(${shown})'`, at)
}

/** Null may stand for anything that is no scalar. */
const areComparable = (left: CheckedType, right: CheckedType): boolean =>
  left.matches(right) ||
  (left.name === "null" && right.kind === "message") ||
  (right.name === "null" && left.kind === "message")

const equality = (node: Node, [left, right]: ReadonlyArray<Node>): void => {
  if (left === undefined || right === undefined) return
  node.meta.check = (checker, _self, scope) => {
    const types = [checker.check(left, scope), checker.check(right, scope)] as const
    return areComparable(...types) ? checker.getType("bool") : overload(checker, `_${node.op}_`, types, node)
  }
  const wanted = node.op === "=="
  node.meta.evaluate = (evaluator, _self, scope) =>
    areEqual(evaluator.run(left, scope), evaluator.run(right, scope)) === wanted
}

const membership = (node: Node, [item, range]: ReadonlyArray<Node>): void => {
  if (item === undefined || range === undefined) return
  node.meta.evaluate = (evaluator, _self, scope) => {
    const [value, all] = [evaluator.run(item, scope), evaluator.run(range, scope)]
    if (all instanceof Map) return all.has(value)
    return Array.isArray(all)
      ? all.some((other) => areEqual(value, other))
      : (node.handle?.(value, all, node, evaluator) ?? false)
  }
}

const addition = (node: Node, [first, second]: ReadonlyArray<Node>): void => {
  if (first === undefined || second === undefined) return
  node.meta.evaluate = (evaluator, _self, scope) => {
    const [left, right] = [evaluator.run(first, scope), evaluator.run(second, scope)]
    if (Array.isArray(left) && Array.isArray(right)) return concatenated(left, right)
    return node.handle?.(left, right, node, evaluator) ?? null
  }
}

/** Items, keys and values have one type each, unless some are `dyn`. Maps keep the types of their keys. */
const literal = (node: Node): void => {
  const { check } = node.meta
  node.meta.check = (checker, self, scope) => {
    const type = check(checker, self, scope)
    const entries = node.args as ReadonlyArray<Node | readonly [Node, Node]>
    for (const group of [0, 1]) {
      const [first, ...rest] = entries.flatMap((entry) =>
        isNode(entry) ? (group === 0 ? [entry] : []) : [entry[group] as Node],
      )
      for (const other of rest) oneType(checker, first, other)
    }
    if (node.op === "map")
      node.meta.evaluate = (evaluator, _self, within) => mapOf(entries, (part) => evaluator.run(part, within))
    return type
  }
}

const oneType = (checker: Checker, first: Node | undefined, other: Node): void => {
  const [wanted, found] = [first?.checkedType, other.checkedType]
  if (wanted === undefined || found === undefined || wanted.matches(found)) return
  throw checker.createError("heterogeneous", `expected type '${wanted.name}' but found '${found.name}'`, other)
}

const mapOf = (entries: ReadonlyArray<Node | readonly [Node, Node]>, run: (part: Node) => Value): Value =>
  new Map(entries.flatMap((entry) => (isNode(entry) ? [] : [[run(entry[0]), run(entry[1])]])))

/** What a text is formatted with may be of any types. */
const mixed = (list: Node): void => {
  list.meta.macro = {
    async: false,
    typeCheck: (checker, _self, scope) => {
      for (const item of partsOf(list)) checker.check(item, scope)
      return checker.getType("list<dyn>")
    },
    evaluate: (evaluator, _self, scope) => partsOf(list).map((item) => evaluator.run(item, scope)),
  }
}

/** A literal that cannot be compiled is refused at once. */
const pattern = (name: string, argument: Node | undefined): void => {
  if (argument?.op !== "value" || typeof argument.args !== "string") return
  if (typeof compilePattern(argument.args) === "string") refuse(`invalid ${name} argument`, argument)
}

/** The library's `has()` takes a path of names only, and any name. */
const field = (node: Node, [selected]: ReadonlyArray<Node>): void => {
  const [operand, key] = (selected?.op === "." ? selected.args : []) as [Node?, string?]
  if (selected === undefined || operand === undefined || key === undefined)
    return refuse("invalid argument to has() macro", node)
  node.meta.macro = {
    async: false,
    typeCheck: (checker, _self, scope) => {
      checker.check(selected, scope)
      return checker.getType("bool")
    },
    evaluate: (evaluator, _self, scope) => {
      const value = evaluator.run(operand, scope)
      const found = evaluator.debugType(value).fieldLazy(value, key, selected, evaluator)
      return found !== undefined && !(isOptional(found) && !found.hasValue())
    },
  }
}

/** The type of a field that may be null, `dyn<T>`, is T; it is `dyn` for the library's own check of the value. */
const declared = ({ meta }: Node): void => {
  const { check } = meta
  meta.check = (checker, self, scope) => {
    const type = check(checker, self, scope)
    return type.kind === "optional"
      ? checker.getType(`optional<${type.valueType.unwrappedType.name}>`)
      : type.unwrappedType
  }
}

/** `type()` tells the type of the value: null has another one than its field. */
const untyped = (node: Node | undefined): void => {
  if (node === undefined || !reading.has(node.op)) return
  const { check } = node.meta
  node.meta.check = (checker, self, scope) => {
    check(checker, self, scope)
    return checker.getType("dyn")
  }
}

/** The parts that must not be null. The library does not look at values whose type it knows, and would compute with it. */
const typedParts = (node: Node, parts: ReadonlyArray<Node>): ReadonlyArray<Node> => {
  const { op } = node
  if (typedOperators.has(op)) return parts
  if (op === "in") return parts.slice(1)
  if (op !== "call" && op !== "rcall") return []
  const takesAny = anyArguments.has(calledName(node).replace(/_$/, ""))
  return takesAny ? parts.slice(0, op === "rcall" ? 1 : 0) : parts
}

const notNull = (node: Node): void => {
  if (node.op !== "value") around(node, (evaluate) => evaluate() ?? fail("no such overload"))
}

/** The body of a loop, which takes as many steps as it has nodes, each time. */
const counted = (node: Node, size: number): void =>
  around(node, (evaluate) => {
    step(size)
    return evaluate()
  })

/** Evaluates the node by `change`. */
const around = ({ meta }: Node, change: (evaluate: () => Value) => Value): void => {
  const { alternate, macro, evaluate } = meta
  if (alternate !== undefined) {
    meta.alternate = undefined
    const typeCheck: Check<unknown> = (checker, _self, scope) => checker.check(alternate, scope)
    meta.macro = {
      async: false,
      typeCheck,
      evaluate: (evaluator, _self, scope) => change(() => evaluator.run(alternate, scope)),
    }
  } else if (macro !== undefined) {
    meta.macro = {
      ...macro,
      evaluate: (evaluator, self, scope) => change(() => macro.evaluate(evaluator, self, scope)),
    }
  } else meta.evaluate = (evaluator, self, scope) => change(() => evaluate(evaluator, self, scope))
}
