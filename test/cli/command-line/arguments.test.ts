import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  type CommandSyntax,
  count,
  flag,
  integerBetween,
  list,
  oneOf,
  optional,
  parseArguments,
  repeated,
  required,
  withDefault,
} from "../../../src/cli/command-line/arguments.ts"

const options = {
  config: required("-c FILE", "a file"),
  dataDir: optional("DIRECTORY", "a directory"),
  port: withDefault("7777", "-p PORT", "a port", integerBetween(0, 65_535)),
  format: withDefault("text", "FORMAT", "a format", oneOf("text", "json")),
  namespace: list("NAME", "a namespace"),
  label: repeated("SELECTOR", "a selector"),
  force: flag({ short: "f", help: "no questions" }),
  verbose: count({ short: "v", help: "more" }),
}
const syntax: CommandSyntax<typeof options> = { name: "reel try", summary: "Tries.", options }

const parse = (...argv: string[]) => parseArguments(syntax, argv)

const accepted = (...argv: string[]) => {
  const parsed = parse(...argv)
  if (parsed._tag !== "Options") throw new Error(JSON.stringify(parsed))
  return parsed.options
}

const problem = (...argv: string[]): string => {
  const parsed = parse(...argv)
  if (parsed._tag !== "Wrong") throw new Error(JSON.stringify(parsed))
  return parsed.error.problem
}

describe("options", () => {
  test("have their defaults", () => {
    expect(accepted("-c", "a.yml")).toEqual({
      config: "a.yml",
      dataDir: undefined,
      port: 7777,
      format: "text",
      namespace: [],
      label: [],
      force: false,
      verbose: 0,
    })
  })

  test.each([
    [["--config", "a.yml", "--data-dir", "/d"]],
    [["--config=a.yml", "--data-dir=/d"]],
    [["-ca.yml", "--data-dir", "/d"]],
    [["--data-dir", "/x", "--data-dir", "/d", "-c", "a.yml"]],
  ])("may be written as %j; the last one counts", (argv) => {
    expect(accepted(...argv)).toMatchObject({ config: "a.yml", dataDir: "/d" })
  })

  test("without values are counted and can be combined", () => {
    expect(accepted("-c", "a", "-vv", "--verbose", "-fv")).toMatchObject({ verbose: 4, force: true })
  })

  test("that may be repeated collect their values, and split at commas only if declared so", () => {
    expect(
      accepted("-c", "a", "--namespace", "a,b", "--namespace", "c", "--label", "x in (1,2)", "--label", "y"),
    ).toMatchObject({ namespace: ["a", "b", "c"], label: ["x in (1,2)", "y"] })
  })

  test("may have values that begin with a dash if these are numbers, a dash alone, or joined with =", () => {
    expect(accepted("-c", "-10m").config).toBe("-10m")
    expect(accepted("-c", "-").config).toBe("-")
    expect(accepted("--config=--port").config).toBe("--port")
  })

  test("--help is help where the value of an option was forgotten, and text where it is given with =", () => {
    expect(parse("--config", "--help")._tag).toBe("Help")
    expect(parse("--config=--help")._tag).toBe("Options")
  })

  test("an option of a choice tells its choices, for completions, and others tell none", () => {
    const { format, config, force } = options
    expect([format.choices, config.choices, force.choices]).toEqual([["text", "json"], undefined, undefined])
  })

  test("--help and --version take precedence over every mistake before or after them", () => {
    expect(parse("--colour", "--help")._tag).toBe("Help")
    expect(parse("-h")._tag).toBe("Help")
    expect(parse("--version", "--port", "x")._tag).toBe("Version")
  })
})

describe("a mistake is reported with the given value and the allowed values", () => {
  test.each([
    [["--confg", "a"], "unknown option --confg; did you mean --config?"],
    [["--Force", "-c", "a"], "unknown option --Force; did you mean --force?"],
    [["--colour"], "unknown option --colour"],
    [["-x"], "unknown option -x"],
    [["-vx"], "unknown option -x"],
    [["--\u001b[2J"], "unknown option --\\u001b[2J"],
    [["--__proto__", "-c", "a"], "unknown option --__proto__"],
    [[], "--config FILE is required"],
    [["--config"], "--config needs a value (FILE)"],
    [["-c"], "-c needs a value (FILE)"],
    [["--config="], '--config "": it is empty'],
    [["--config", "--port", "80"], '--config needs a value (FILE); to pass "--port" as the value, write --config=…'],
    [["-c", "a", "--force=yes"], "--force takes no value"],
    [["-c", "a", "b"], 'unexpected argument "b"'],
    [["-c", "a", "--", "--port"], 'unexpected argument "--port"'],
    [["-c", "a", "--port", "80a"], '--port "80a": must be a number from 0 to 65535'],
    [["-c", "a", "--port", "65536"], '--port "65536": must be a number from 0 to 65535'],
    [["-c", "a", "--port", "-1"], '--port "-1": must be a number from 0 to 65535'],
    [["-c", "a", "--format", "jsno"], '--format "jsno": must be text or json; did you mean json?'],
    [["-c", "a", "--namespace", "a,,b"], '--namespace "a,,b": it is empty'],
  ])("%j", (argv, expected) => {
    expect(problem(...argv)).toBe(expected)
  })

  test("the message says how to get help", () => {
    const parsed = parse("--x")
    expect(parsed._tag === "Wrong" ? parsed.error.message : "").toBe(
      'reel try: unknown option --x\nTry "reel try --help".',
    )
  })
})

test("no command line makes the parser throw, and each result is one of four", () => {
  const word = fc.oneof(
    fc.string(),
    fc.constantFrom(
      "--",
      "-",
      "-c",
      "--config",
      "--port",
      "--port=1",
      "-vvf",
      "-p",
      "--help=x",
      "--no-force",
      "=",
      "--=",
    ),
  )
  fc.assert(
    fc.property(fc.array(word, { maxLength: 8 }), (argv) => {
      const parsed = parse(...argv)
      expect(["Options", "Help", "Version", "Wrong"]).toContain(parsed._tag)
      if (parsed._tag === "Wrong") expect(parsed.error.problem).not.toMatch(/[\p{Cc}]/u)
    }),
  )
})
