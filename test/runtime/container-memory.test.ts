/** The memory limit of a process is read from control groups as containers, services and login sessions have them. */
import { totalmem } from "node:os"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { memoryBound } from "../../src/runtime/container-memory.ts"

const gibibyte = 1024 ** 3
const machine = 16 * gibibyte

const bound = (files: Readonly<Record<string, string>>, machineBytes = machine) =>
  memoryBound((path) => (Object.hasOwn(files, path) ? files[path] : undefined), machineBytes)

const nothing = { bytes: machine, file: undefined }

describe("the memory limit of a process", () => {
  test.each([
    [
      "in a container that sees its own group as the root (version 2)",
      { "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "553648128\n" },
      { bytes: 553_648_128, file: "/sys/fs/cgroup/memory.max" },
    ],
    [
      "in a container whose path is told as the machine knows it (version 2)",
      {
        "/proc/self/cgroup": "0::/kubepods.slice/pod1/cri-containerd-7\n",
        "/sys/fs/cgroup/memory.max": "553648128\n",
      },
      { bytes: 553_648_128, file: "/sys/fs/cgroup/memory.max" },
    ],
    [
      "in a service, by the lowest bound above it (version 2)",
      {
        "/proc/self/cgroup": "0::/system.slice/reel.service\n",
        "/sys/fs/cgroup/system.slice/reel.service/memory.max": "max\n",
        "/sys/fs/cgroup/system.slice/memory.max": "1073741824\n",
      },
      { bytes: gibibyte, file: "/sys/fs/cgroup/system.slice/memory.max" },
    ],
    [
      "in a container of version 1",
      {
        "/proc/self/cgroup": "12:cpu,cpuacct:/docker/7\n5:memory:/docker/7\n0::/docker/7\n",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": "268435456\n",
      },
      { bytes: 268_435_456, file: "/sys/fs/cgroup/memory/memory.limit_in_bytes" },
    ],
    [
      "in a group of version 1 that shares its controller",
      {
        "/proc/self/cgroup": "5:hugetlb,memory:/batch/7\n",
        "/sys/fs/cgroup/memory/batch/7/memory.limit_in_bytes": "268435456\n",
      },
      { bytes: 268_435_456, file: "/sys/fs/cgroup/memory/batch/7/memory.limit_in_bytes" },
    ],
    [
      "where version 1 says that there is none",
      {
        "/proc/self/cgroup": "5:memory:/\n",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
      },
      nothing,
    ],
    [
      "where version 2 says that there is none",
      { "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "max\n" },
      nothing,
    ],
    [
      "whose group lies outside of what is mounted",
      { "/proc/self/cgroup": "0::/../../7\n", "/sys/fs/cgroup/memory.max": "1073741824\n" },
      { bytes: gibibyte, file: "/sys/fs/cgroup/memory.max" },
    ],
    [
      "that may take more than there is",
      { "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "1e30" },
      nothing,
    ],
    ["without control groups", {}, nothing],
    [
      "with files that make no sense",
      { "/proc/self/cgroup": "\n:::\n0::x\n", "/sys/fs/cgroup/memory.max": "-1" },
      nothing,
    ],
  ])("%s", (_, files, expected) => expect(bound(files)).toEqual(expected))
})

test("it is the lowest of all groups up to the root, in either version, and never above the machine's memory", () => {
  const name = fc.stringMatching(/^[a-z0-9.-]{1,12}$/).filter((text) => text !== "..")
  const level = fc.record({ name, limit: fc.option(fc.bigInt({ min: 1n, max: 2n ** 63n })) })
  fc.assert(
    fc.property(
      fc.array(level, { maxLength: 6 }),
      fc.option(fc.bigInt({ min: 1n, max: 2n ** 63n })),
      fc.constantFrom(1, 2),
      (levels, ofRoot, version) => {
        const [mount, file, line] =
          version === 2
            ? ["/sys/fs/cgroup", "memory.max", "0::"]
            : ["/sys/fs/cgroup/memory", "memory.limit_in_bytes", "3:memory:"]
        const files: Record<string, string> = {}
        const limits: bigint[] = []
        const put = (path: string, limit: bigint | null): void => {
          files[`${mount}${path}/${file}`] = limit === null ? "max\n" : `${limit}\n`
          if (limit !== null) limits.push(limit)
        }
        put("", ofRoot)
        let path = ""
        for (const { name: part, limit } of levels) {
          path += `/${part}`
          put(path, limit)
        }
        files["/proc/self/cgroup"] = `${line}${path === "" ? "/" : path}\n`
        expect(bound(files).bytes).toBe(Math.min(machine, ...limits.map(Number)))
      },
    ),
  )
})

test("read from this machine it is a plausible value", () => {
  const { bytes } = memoryBound()
  expect(bytes).toBeGreaterThan(50e6)
  expect(bytes).toBeLessThanOrEqual(totalmem())
})
