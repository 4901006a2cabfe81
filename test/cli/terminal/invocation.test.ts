import { describe, expect, test } from "vitest"
import { asTyped, invocation, invocationOf } from "../../../src/cli/terminal/invocation.ts"

describe("the name of the program", () => {
  test.each([
    ["/usr/local/bin/reel", "reel", false],
    ["/checkout/bin/reel.js", "reel", false],
    ["/checkout/src/cli/main.ts", "reel", false],
    ["/home/me/.krew/bin/kubectl-reel", "kubectl reel", false],
    ["/app/bin/kubectl-reel.js", "kubectl reel", false],
    ["/home/me/.krew/bin/kubectl_complete-reel", "kubectl reel", true],
    ["/app/bin/kubectl-complete-reel.js", "kubectl reel", true],
    ["/app/bin/kubectl-completely", "reel", false],
    [undefined, "reel", false],
  ])("of %s is %s; completes: %s", (script, program, isCompleting) => {
    expect(invocationOf(script)).toEqual({ program, isCompleting })
  })

  test("of a test is reel", () => {
    expect(invocation.program).toBe("reel")
  })
})

describe("commands in texts", () => {
  test("stay for reel", () => {
    expect(asTyped("Try reel export --help", "reel")).toBe("Try reel export --help")
  })

  test.each([
    ["reel export -o a.ndjson | jq .", "kubectl reel export -o a.ndjson | jq ."],
    ['Try "reel --help".', 'Try "kubectl reel --help".'],
    ["reel: unknown command", "kubectl reel: unknown command"],
    ["KUBEREEL_TOKEN=$(cat t) reel export -o -", "KUBEREEL_TOKEN=$(cat t) kubectl reel export -o -"],
    ["reel crd | kubectl apply -f -", "kubectl reel crd | kubectl apply -f -"],
    ["Usage: reel COMMAND [OPTION]...", "Usage: kubectl reel COMMAND [OPTION]..."],
    ["kubectl reel get pods", "kubectl reel get pods"],
    ["kubereel records", "kubereel records"],
    ["ln -s kubectl-reel x", "ln -s kubectl-reel x"],
    ["completions/reel and .reel files", "completions/reel and .reel files"],
  ])("name kubectl if it started the program: %s", (text, expected) => {
    expect(asTyped(text, "kubectl reel")).toBe(expected)
  })
})
