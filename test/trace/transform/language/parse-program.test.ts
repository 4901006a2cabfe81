/** The transform language: what is a program, and what is said of a text that is none. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { longestProgram, ProgramError, parseProgram } from "../../../../src/trace/transform/language/parse-program.ts"
import { anyProgram, textOf, withoutPositions } from "./program-text.ts"

const faultOf = (text: string): ProgramError => {
  try {
    parseProgram(text)
  } catch (error) {
    if (error instanceof ProgramError) return error
    throw error
  }
  throw new Error(`a program: ${text}`)
}

describe("a program", () => {
  test("is what was written, whatever is between its parts", () => {
    fc.assert(
      fc.property(anyProgram, fc.nat(30), (program, turn) => {
        expect(withoutPositions(parseProgram(textOf(program, turn)))).toEqual(withoutPositions(program))
      }),
      { numRuns: 300 },
    )
  })

  test("is parsed or rejected with a place in it, whatever the text", () => {
    const pieces = fc.constantFrom(
      ...[
        "modify",
        "remove",
        "delete",
        "insert",
        "(",
        ")",
        ";",
        ",",
        "=",
        "==",
        ":=",
        "|",
        "||",
        "&&",
        "!",
        "exists",
        "@t",
        "15m",
        "$v",
        "a.b",
        "[*]",
        "[0]",
        "{",
        "}",
        '"',
        '"x"',
        "in",
        "at",
        "-1",
        "#",
        "\n",
        " ",
        "\\",
      ],
    )
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 20 }), (parts) => {
        const text = parts.join("")
        try {
          parseProgram(text)
        } catch (error) {
          expect(error).toBeInstanceOf(ProgramError)
          const { line, column, excerpt } = error as ProgramError
          expect(line).toBeLessThanOrEqual(text.split("\n").length)
          expect(column).toBeGreaterThan(0)
          expect(excerpt).toMatch(/\^$/)
        }
      }),
      { numRuns: 500 },
    )
  })

  test.each([
    "remove(status);",
    'delete(metadata.namespace == "loadtest");',
    'delete(kind == "Pod" && exists(metadata.ownerReferences));',
    'modify(@t >= 15m && kind == "Deployment", spec.replicas = 3);',
    'modify(metadata.labels."example.com/tier" == "gold", spec.template.spec.priorityClassName = "high");',
    'remove($c := spec.template.spec.containers[*] | $c.name == "istio-proxy", $c);',
    'modify($c := spec.template.spec.containers[*] | $c.imagePullPolicy == "Always", $c.imagePullPolicy = "Never");',
    "modify($z := metadata.labels.zone | exists($z), spec.template.spec.nodeSelector.zone = $z);",
    "remove($v := spec.template.spec.volumes[*] | exists($v.persistentVolumeClaim) && $m := spec.template.spec.containers[*].volumeMounts[*] | $m.name == $v.name, $m);",
    "remove(!exists(spec.template.spec.affinity) && @t < 1710892600, spec.template.spec.tolerations);",
  ])("is each of SimKube's examples: %s", (text) => {
    expect(parseProgram(text)).toHaveLength(1)
  })

  test("may have SimKube's spelling of true and false, and a # in a string", () => {
    expect(withoutPositions(parseProgram('modify(a = TRUE); modify(a = "# b");'))).toMatchObject([
      { value: { value: true } },
      { value: { value: "# b" } },
    ])
  })

  test("has words that begin like others, and fields that are named like keywords", () => {
    expect(withoutPositions(parseProgram("modify(in == 1, true = falsely); remove(exists.null);"))).toMatchObject([
      { target: { steps: ["true"] }, value: { type: "path", steps: ["falsely"] } },
      { target: { steps: ["exists", "null"] } },
    ])
  })
})

describe("a text that is no program: the fault, its line and column, and the line with a caret", () => {
  test.each([
    ["remove(status)", 'expected ";", found the end of the program'],
    ["remov(status);", 'expected "delete", "insert", "modify", "remove" or the end of the program, found "remov"'],
    ["modify(spec.replicas = );", 'expected a value, found ")"'],
    ['delete(kind = "Pod");', 'expected "=~", "in" or a comparison, found "="'],
    ["remove(a..b);", 'expected a path or a string, found "."'],
    ["remove(a[x]);", 'expected a digit, found "x"'],
    ['remove("abc);', "a string without its closing quote, or with a backslash that escapes it"],
    ["delete(@t >= 10 m);", 'expected "&&", ")" or "||", found "m"'],
    ["insert({a: 1}, 10s);", 'expected "at", found "10s"'],
    ['modify(a == "x\\q", b = 1);', "there are the escapes"],
    ["modify(a = $b);", "variable not defined: $b"],
    ["remove($c.name);", "variable not defined: $c"],
    ["remove($c := a[*] | exists($c) && $c := b | exists($c), $c);", "variable already defined: $c"],
    ["remove($c := a[*] | exists(b), $c);", "variable not present in selector on left-hand side"],
    ["remove(($c := a[*] | exists($c)) || exists(b), $c);", "$c is defined only within one side of ||"],
    ['delete(name =~ "a(b");', "not a regular expression (RE2)"],
    ['delete(@t < "yesterday");', "not a date and time with its offset"],
    ['delete(@t < "2026-02-31T00:00:00Z");', "not a date and time with its offset"],
    ["delete(@t > 99999999999999999999h);", "later than any trace can be"],
    ["modify(spec.replicas = 1e999);", "not a number of JSON"],
    ["modify(spec.replicas = 007);", "not a number of JSON"],
    [`modify(a = 1${"0".repeat(400)});`, "not a number of JSON"],
    [`insert({apiVersion: "v1", kind: "Pod", metadata: {name: "a"}, x: [-1e999]}, at 1s);`, "not a number of JSON"],
    [`remove(${"a.".repeat(2000)}a);`, "a path of more than 1000 fields"],
    ['insert({kind: "Pod", metadata: {name: "a"}}, at 1s);', "an object to insert has a text as its apiVersion"],
    ['insert({apiVersion: "v1", kind: "Pod", metadata: {name: x}}, at 1s);', "an object to insert has no paths"],
  ])("%s", (text, detail) => {
    const fault = faultOf(text)
    expect(fault.detail).toContain(detail)
  })

  test("names the line, and points below it", () => {
    expect(faultOf("remove(status);\r\n  modify(spec.replicas 3);\nremove(x);").message).toBe(
      'line 2, column 24: expected "=", "=~", "in" or a comparison, found "3"\n    modify(spec.replicas 3);\n                         ^',
    )
  })

  test("shows a part of a long line, without control characters", () => {
    const { excerpt } = faultOf(`remove(${"a.".repeat(500)}\u001b[2J);`)
    expect(excerpt.length).toBeLessThan(300)
    expect(excerpt).not.toContain("\u001b")
  })

  test("is rejected in its depth and its length, not crashed over", () => {
    expect(faultOf(`delete(${"(".repeat(100_000)}a == 1);`).detail).toMatch(/nested too deeply|expected/)
    expect(faultOf(`modify(a = ${"[".repeat(100_000)});`).detail).toMatch(/nested too deeply|expected/)
    for (const levels of [1001, 3000, 10_000, 100_000])
      expect(faultOf(`remove(status); delete(${"!".repeat(levels)}(a == 1));`).detail).toContain("nested too deeply")
    expect(faultOf(" ".repeat(longestProgram + 1)).detail).toContain("longer than")
  })
})
