import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { Meter } from "../../../src/sandbox/cel/evaluation.ts"
import { keyedBy } from "../../../src/sandbox/cel/values.ts"
import { evaluated, problemOf } from "./evaluated.ts"

describe("an expression", () => {
  test.each([
    "1 + 2 * 3 == 7 && -7 / 2 == -3 && -7 % 2 == -1",
    "1 < 2.5 && 2.5 > 1 && 1u < 2 && dyn(1) == 1.0 && dyn(1u) == 1",
    "'a' + 'b' == 'ab' && b'a' + b'b' == b'ab' && [1] + [2] == [1, 2]",
    "2 in [1, 2] && 'a' in {'a': 1} && !(3 in [1, 2])",
    "{'a': 1}.a == 1 && {'a': 1}['a'] == 1 && has({'a': 1}.a) && !has({'a': 1}.b)",
    "[1, 2, 3].all(x, x > 0) && [1, 2].exists(x, x == 2) && [1, 2].exists_one(x, x > 1)",
    "[1, 2, 3].filter(x, x > 1).map(x, x * 2) == [4, 6] && [1, 2].map(x, x > 1, x) == [2]",
    "[5, 6].all(i, x, x == i + 5) && {'a': 1}.exists(k, v, k == 'a' && v == 1)",
    "[5, 6].transformList(i, x, i + x) == [5, 7] && {'a': 1}.transformMap(k, v, v + 1) == {'a': 2}",
    "[1, 2].transformMapEntry(i, x, {x: i}) == {1: 0, 2: 1}",
    "optional.none().orValue(1) == 1 && optional.of(2).optMap(x, x + 1).value() == 3",
    "{'a': 1}.?b.hasValue() == false && {'a': 1}[?'a'].orValue(0) == 1 && [1][?5].orValue(9) == 9",
    "type(1) == int && type('a') == string && type([]) == list && type(null) == null_type",
    "int('5') == 5 && double('1.5') == 1.5 && string(1.5) == '1.5' && bool('true') && uint(1) == 1u",
    "timestamp('2020-01-31T23:30:00Z').getDayOfMonth('+01:00') == 0 && timestamp('2020-01-01T00:00:00Z').getFullYear() == 2020",
    "timestamp('2020-07-01T22:30:00Z').getHours('Europe/Berlin') == 0",
    "timestamp('2020-01-01T00:00:00.5Z') + duration('500ms') == timestamp('2020-01-01T00:00:01Z')",
    "string(timestamp('2020-01-01T01:00:00.25+01:00')) == '2020-01-01T00:00:00.25Z' && string(duration('1m30.5s')) == '90.5s'",
    "'%s %d %.2f %x %b'.format(['a', 1, 1234.5, 255, 5]) == 'a 1 1,234.50 ff 101'",
    "'%s %s'.format([[1, dyn('a')], {'k': true}]) == '[1, \"a\"] {\"k\":true}'",
    "'grüße'.size() == 5 && 'grüße'.charAt(2) == 'ü' && 'tacocat'.indexOf('c') == 2 && 'tacocat'.lastIndexOf('c') == 4",
    "'a,b,c'.split(',', 2) == ['a', 'b,c'] && ['a', 'b'].join('-') == 'a-b' && 'abc'.substring(1, 2) == 'b'",
    "'aXbX'.replace('X', 'y', 1) == 'aybX' && 'ab'.replace('', '-') == '-a-b-' && ' a '.trim() == 'a'",
    "'Grün'.upperAscii() == 'GRüN' && strings.quote('a\"b') == '\"a\\\\\"b\"'",
    "'abc123'.find('[0-9]+') == '123' && 'a1b2'.findAll('[0-9]') == ['1', '2'] && 'abc'.matches('^a')",
    "[1, 3, 2].max() == 3 && ['b', 'a'].min() == 'a' && [1.5, 2.0].sum() == 3.5 && ![2, 1].isSorted()",
    "[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2 && sets.equivalent([1, 2], [2, 1, 1])",
    "quantity('1.5Gi').isGreaterThan(quantity('1500M')) && quantity('50k').add(20).sub(quantity('100k')) == quantity('-49980')",
    "quantity('1.2').isInteger() == false && quantity('2k').asInteger() == 2000 && isQuantity('1,5') == false",
    "ip('2001:db8::1').family() == 6 && ip('127.0.0.1').isLoopback() && ip('10.0.0.1').isGlobalUnicast()",
    "ip.isCanonical('2001:db8::abcd') && !ip.isCanonical('2001:DB8::ABCD') && !isIP('::ffff:1.2.3.4') && !isIP('fe80::1%eth0')",
    "cidr('192.168.0.1/24').masked() == cidr('192.168.0.0/24') && cidr('192.168.0.0/16').containsCIDR('192.168.10.0/24')",
    "cidr('2001:db8::/32').containsIP('2001:db8::5') && cidr('::1/128').prefixLength() == 128 && !isCIDR('1.2.3.4/33')",
    "url('https://a.b:80/c%20d?k=1&k=2').getQuery() == {'k': ['1', '2']} && url('https://[::1]:80/').getHostname() == '::1'",
    "url('/a/b').getScheme() == '' && url('https://a/b c').getEscapedPath() == '/b%20c' && !isURL('a/b')",
    "semver('1.2.3-alpha.2').isLessThan(semver('1.2.3-alpha.10')) && semver('v01.2', true) == semver('1.2.0')",
    "!format.dns1123Label().validate('a-b').hasValue() && format.named('uuid').value().validate('x').value() == ['does not match the UUID format']",
  ])("is true: %s", (text) => {
    expect(evaluated(text)).toBe(true)
  })

  test.each([
    ["1 +", "compile: Syntax error: Unexpected token: EOF"],
    ["nope", "compile: undeclared reference to 'nope' (in container '')"],
    ["1 == 1.0", "compile: found no matching overload for '_==_' applied to '(int, double)'"],
    ["'a'.nope()", "compile: undeclared reference to 'nope' (in container '')"],
    ["'a'.size('b')", "compile: found no matching overload for 'string.size(string)'"],
    ["[1, 'a']", "compile: expected type 'int' but found 'string'"],
    ["[1].all(x, x)", "compile: all(var, predicate) predicate must return bool, got 'int'"],
    [
      "1.all(x, true)",
      "compile: Expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
    ],
    ["has(1)", "compile: invalid argument to has() macro"],
    ["true ? 1 : 'a'", "compile: Ternary branches must have the same type, got 'int' and 'string'"],
    ["cel.bind(x, 1, x)", "compile: undeclared reference to 'bind' (in container '')"],
    ["9223372036854775807 + 1", "evaluate: integer overflow"],
    ["1 / 0", "evaluate: division by zero"],
    ["[1][5]", "evaluate: index out of bounds"],
    ["{'a': 1}['b']", "evaluate: no such key: b"],
    ["dyn('a') + dyn(1) == 1", "evaluate: no such overload"],
    ["'a'.matches('(')", "compile: invalid matches argument"],
    ["duration('x') == duration('1s')", "compile: Invalid duration string"],
    ["'a'.matches('(' + 'a')", "evaluate: error parsing regexp: missing closing )"],
    ["optional.none().value() == 1", "evaluate: Optional value is not present"],
    ["quantity('Three') == quantity('3')", "evaluate: quantities must match the regular expression"],
  ])("has no value: %s", (text, problem) => {
    expect(problemOf(text)).toContain(problem)
  })

  test("absorbs the failure of one side of && and || if the other side decides, in either order", () => {
    expect(evaluated("1 / 0 == 1 || true")).toBe(true)
    expect(evaluated("false && 1 / 0 == 1")).toBe(false)
    expect(evaluated("[0, 1].exists(x, 1 / x == 1)")).toBe(true)
    expect(evaluated("[1, 0].all(x, 1 / x == 5)")).toBe(false)
    expect(problemOf("[1, 0].all(x, 1 / x == 1)")).toBe("evaluate: division by zero")
  })

  test("reads null as a value, of a variable, a field and an item", () => {
    expect(evaluated("n == null", { n: null })).toBe(true)
    expect(evaluated("{'a': null}.a == null && [null][0] == null && has({'a': null}.a)")).toBe(true)
  })

  test("may use a variable of a macro that has the name of a function's prefix", () => {
    expect(evaluated("['a'].all(ip, ip.contains('a'))")).toBe(true)
  })

  test("infers the type of an empty list from its use", () => {
    expect(evaluated("(true ? [] : [1]) == []")).toBe(true)
    expect(evaluated("[] + [1] == [1]")).toBe(true)
  })
})

describe("an expression that would hold the server", () => {
  const integers = (length: number): bigint[] => Array.from({ length }, (_, index) => BigInt(index))
  const many = integers(3000)

  test("is stopped by its steps", () => {
    expect(problemOf("l.all(x, l.all(y, x + y >= 0))", { l: many })).toBe(
      "limit: operation cancelled: actual cost limit exceeded",
    )
  })

  test("is stopped by the size of what it repeats", () => {
    const free = Array.from({ length: 240 }, () => "has({}.a)").join(" || ")
    expect(problemOf(`l.all(x, !(${free}))`, { l: integers(30_000) })).toMatch(/^limit/)
    const constants = Array.from({ length: 240 }, () => "true").join(" && ")
    const wide = integers(60_000)
    expect(problemOf(`l.all(x, ${constants})`, { l: wide })).toMatch(/^limit/)
  })

  test("is stopped before it makes a text that is too long", () => {
    const text = "a".repeat(100_000)
    expect(problemOf("t.replace('', t).size() > 0", { t: text })).toMatch(/^limit/)
    expect(problemOf("l.map(x, t).join(t).size() > 0", { t: text, l: many })).toMatch(/^limit/)
  })

  test("is stopped when its time is over", () => {
    const text = "a".repeat(1_000_000)
    expect(problemOf("l.all(x, t.size() > 0)", { l: integers(100_000), t: text }, new Meter(50))).toMatch(/^limit/)
  })

  test("is not absorbed by the other side of ||", () => {
    expect(problemOf("l.all(x, l.all(y, x + y >= 0)) || true", { l: many })).toMatch(/^limit/)
  })
})

describe("any", () => {
  const word = fc.constantFrom(
    "self",
    "1",
    "'a'",
    "[1]",
    "{'a': 1}",
    "has(",
    ")",
    "(",
    "&&",
    "?",
    ":",
    ".",
    ".all(x, ",
    "in",
    "-",
    "!",
    "null",
    "dyn(",
    "[",
    "]",
    "size(",
    "1.5",
    "b'x'",
    "1u",
    "/",
    "%",
  )

  test("text is either evaluated or refused, and nothing else happens", () => {
    fc.assert(
      fc.property(fc.array(word, { maxLength: 12 }), fc.string(), (words, rest) => {
        const variables = { self: new Map([["a", 1n]]) }
        problemOf(words.join(" "), variables)
        problemOf(rest, variables)
      }),
      { numRuns: 500 },
    )
  })

  test("integers are added, compared and divided as 64-bit integers", () => {
    const integer = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
    fc.assert(
      fc.property(integer, integer, (a, b) => {
        const fits = BigInt.asIntN(64, a + b) === a + b
        expect(fits ? evaluated("a + b", { a, b }) : problemOf("a + b", { a, b })).toBe(
          fits ? a + b : "evaluate: integer overflow",
        )
        expect(evaluated("a < b", { a, b })).toBe(a < b)
        if (b !== 0n && !(a === -(2n ** 63n) && b === -1n))
          expect(evaluated("(a / b) * b + a % b == a", { a, b })).toBe(true)
      }),
    )
  })

  test("literals of texts have the value that is written", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        expect(evaluated(JSON.stringify(text).replaceAll("/", "\\x2f"))).toBe(text)
      }),
    )
  })

  test("list is equal to itself, and to its reverse as a set only", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.bigInt({ min: 0n, max: 9n })), (items) => {
        const [list, reverse] = [items, items.toReversed()]
        const set = keyedBy([...items], [])
        expect(evaluated("a == a", { a: list })).toBe(true)
        expect(evaluated("a == b", { a: set, b: reverse })).toBe(true)
        expect(evaluated("a == b", { a: list, b: reverse })).toBe(items.length < 2)
      }),
    )
  })
})
