import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { type ModuleFile, parseModuleFile } from "../../../src/host/modules/module-file.ts"
import { describeRefusal } from "../../../src/host/modules/module-problem.ts"

const parse = (text: string | Uint8Array): ModuleFile | string => {
  const result = parseModuleFile(Buffer.from(text))
  return Result.isSuccess(result)
    ? result.success
    : describeRefusal("m.yaml", { _tag: "Invalid", problems: result.failure })
}

describe("A module's file", () => {
  test("needs only a name; the original host's files are accepted", () => {
    expect(parse("name: simple-pod\n")).toEqual({ name: "simple-pod", env: [], limits: {} })
    expect(parse("name: simple-pod\nabi: rust_v1alpha1\n")).toEqual({
      name: "simple-pod",
      abi: "rust_v1alpha1",
      env: [],
      limits: {},
    })
  })

  test("may say what its account may, in the form of rules of a Role", () => {
    const text = `
name: simple-pod
permissions:
  - apiGroups: [slinky.dev, ""]
    resources: [simplepods, pods/status]
    verbs: [list, watch]
  - { namespace: shop, apiGroups: [""], resources: [secrets], resourceNames: [key], verbs: ["*"] }
`
    expect(parse(text)).toMatchObject({
      permissions: [
        { apiGroups: ["slinky.dev", ""], resources: ["simplepods", "pods/status"], verbs: ["list", "watch"] },
        { namespace: "shop", apiGroups: [""], resources: ["secrets"], resourceNames: ["key"], verbs: ["*"] },
      ],
    })
    expect(parse("name: simple-pod\npermissions: []\n")).toMatchObject({ permissions: [] })
    expect(parse("name: simple-pod\n")).not.toHaveProperty("permissions")
  })

  test.each([
    ["permissions: all", "m.yaml:2:14: permissions is"],
    ["permissions: [{ resources: [pods], verbs: [get] }]", "m.yaml:2:15: the key permissions[0].apiGroups is missing"],
    ["permissions: [{ apiGroups: [''], resources: [], verbs: [get] }]", "permissions[0].resources"],
    [
      "permissions: [{ apiGroups: [''], resources: [pods], verbs: [get], resourceNames: [] }]",
      "permissions[0].resourceNames",
    ],
    ["permissions: [{ apiGroups: [''], resources: [Pod], verbs: [get] }]", 'permissions[0].resources[0] is "Pod"'],
    ["permissions: [{ apiGroups: [''], resources: [pods], verbs: [GET] }]", 'permissions[0].verbs[0] is "GET"'],
    ["permissions: [{ apiGroups: [a/v1], resources: [pods], verbs: [get] }]", 'permissions[0].apiGroups[0] is "a/v1"'],
    ["permissions: [{ namespaces: [a], apiGroups: [''], resources: [pods], verbs: [get] }]", "namespaces"],
  ])("%s is refused", (line, message) => {
    expect(parse(`name: simple-pod\n${line}\n`)).toContain(message)
  })

  test("may ask for a checkpoint", () => {
    expect(parse("name: a\ncheckpoint: true\n")).toEqual({ name: "a", checkpoint: true, env: [], limits: {} })
    expect(parse("name: a\ncheckpoint: false\n")).toEqual({ name: "a", env: [], limits: {} })
    expect(parse("name: a\ncheckpoint: yes\n")).toBe('m.yaml:2:13: checkpoint is "yes"; it must be true or false')
  })

  test("may have environment, ServiceAccount and limits", () => {
    const text = `
name: simple-pod
abi: rust_v1alpha1
env:
  - name: IMAGE
    value: nginx
  - { name: REPLICAS, value: 3 }
  - name: EMPTY
    value: ""
serviceAccount:
  namespace: shop
  name: pods.writer
limits:
  memory: 64Mi
  deadline: 500ms
  requestsPerSecond: 2.5
  burst: 5
  concurrentRequests: 4
  requestTimeout: 1m30s
`
    expect(parse(text)).toEqual({
      name: "simple-pod",
      abi: "rust_v1alpha1",
      env: [
        { name: "IMAGE", value: "nginx" },
        { name: "REPLICAS", value: "3" },
        { name: "EMPTY", value: "" },
      ],
      serviceAccount: { namespace: "shop", name: "pods.writer" },
      limits: {
        memoryBytes: 64 * 1024 * 1024,
        deadlineMs: 500,
        requestsPerSecond: 2.5,
        burst: 5,
        maximumConcurrent: 4,
        timeoutMs: 90_000,
      },
    })
  })

  test.each([
    [
      "",
      "m.yaml:1:1: the file is empty; it must be a mapping with the keys name, abi, env, serviceAccount, permissions, checkpoint, limits",
    ],
    ["just text", 'm.yaml:1:1: the file is "just text"; it must be a mapping with the keys'],
    ["abi: rust_v1alpha1", "m.yaml:1:1: the key name is missing; add name: and a name such as simple-pod"],
    ["name: A_b", 'm.yaml:1:7: name is "A_b"; it must be a DNS label'],
    ["name:", 'm.yaml:1:6: name is ""; it must be a DNS label'],
    ["name: [a]", "m.yaml:1:7: name is a list; it must be a DNS label"],
    ["name: a\nabi: v2", 'm.yaml:2:6: abi is "v2"; it must be one of rust_v1alpha1'],
    ["name: a\nmemory: 1Gi", 'm.yaml:2:1: unknown key "memory" in the file; allowed: name, abi, env'],
    ["name: a\nname: b", "m.yaml:2:1: the key name appears twice, first in line 1; remove one of them"],
    ["name: a\nenv: {A: b}", "m.yaml:2:6: env is a mapping; it must be a list of name and value"],
    ["name: a\nenv: [{name: A}]", "m.yaml:2:7: the key env[0].value is missing"],
    ["name: a\nenv: [{value: A}]", "m.yaml:2:7: the key env[0].name is missing"],
    ['name: a\nenv: [{name: "A=", value: b}]', 'm.yaml:2:14: env[0].name is "A="; it must be a name without ='],
    [
      "name: a\nenv: [{name: A, valueFrom: {}}]",
      'm.yaml:2:17: unknown key "valueFrom" in env[0]; allowed: name, value',
    ],
    [
      "name: a\nenv:\n- {name: A, value: 1}\n- {name: A, value: 2}",
      "m.yaml:4:10: the variable A appears twice, first in line 3; remove one of them",
    ],
    ["name: a\nserviceAccount: {name: x}", "m.yaml:2:17: the key serviceAccount.namespace is missing"],
    ["name: a\nserviceAccount: default", 'm.yaml:2:17: serviceAccount is "default"; it must be a mapping'],
    ["name: a\nlimits: {memory: 5Gi}", 'm.yaml:2:18: limits.memory is "5Gi"; it must be a quantity such as 64Mi'],
    ["name: a\nlimits: {deadline: 5}", 'm.yaml:2:20: limits.deadline is "5"; it must be a duration such as'],
    ["name: a\nlimits: {deadline: 0s}", 'm.yaml:2:20: limits.deadline is "0s"; it must be a duration'],
    ["name: a\nlimits: {requestsPerSecond: 0}", 'limits.requestsPerSecond is "0"; it must be a number above 0'],
    ["name: a\nlimits: {burst: 1.5}", 'limits.burst is "1.5"; it must be a whole number from 1 to 10000'],
    ["name: a\nlimits: {qps: 5}", 'unknown key "qps" in limits; allowed: memory, deadline, requestsPerSecond, burst'],
    ["name: &x a\nenv: [*x]", "m.yaml:2:7: env[0] is an alias (*), which is not supported here; it must be a mapping"],
    ["name: a\n\tenv: []", "the line is indented with a tab; YAML allows only spaces"],
    ["name: a\n---\nname: b", "the file holds a second document (after ---); write one file for each module"],
    ["name: 'a", "m.yaml:1:9: not valid YAML: "],
    ["\0asm\u0001", "m.yaml:1:1: this is not a text file in UTF-8"],
    [Uint8Array.of(0xff, 0xfe), "m.yaml:1:1: this is not a text file in UTF-8"],
    ["a".repeat(65 * 1024), "m.yaml:1:1: the file is larger than 65536 bytes"],
  ] as const)("with a mistake is refused with its place and what to do (%#)", (text, message) => {
    expect(parse(text)).toContain(message)
  })

  test("names all its mistakes at once, in the order of the file", () => {
    expect(parse("abi: x\nextra: 1\nlimits: {burst: 0, cpu: 1}")).toMatch(
      /^m\.yaml:1:1: .* name is missing.*\nm\.yaml:1:6: abi .*\nm\.yaml:2:1: .*extra.*\nm\.yaml:3:17: .*\nm\.yaml:3:20: .*cpu/,
    )
  })

  test("whatever its bytes, is read or refused in visible characters", () => {
    const word = fc.constantFrom(
      "name",
      "env",
      "limits",
      "abi",
      "a",
      ":",
      " ",
      "\n",
      "- ",
      "{",
      "}",
      "[",
      "]",
      "&x ",
      "*x",
      "'",
    )
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.array(word).map((words) => words.join("")),
      fc.json().map((json) => `name: a\nenv: ${json}\nlimits: ${json}`),
    )
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array(), text), (bytes) => {
        const result = parse(bytes)
        if (typeof result === "string")
          expect(result.split("\n").filter((line) => !/^m\.yaml:\d+:\d+: [^\p{Cc}]+$/u.test(line))).toEqual([])
        else expect(result.name).not.toBe("")
      }),
    )
  })
})
