/** The paths of lists, watches and probes. */
import { describe, expect, test } from "vitest"
import {
  pagePath,
  probePath,
  type Selection,
  streamingListPath,
  watchPath,
  wholeListPath,
} from "../../../../src/kube/watch/streams/request.ts"

const all: Selection = { path: "/api/v1/pods", labelSelector: undefined, fieldSelector: undefined }
const some: Selection = {
  path: "/apis/apps/v1/namespaces/a/deployments",
  labelSelector: "a in (b,c)",
  fieldSelector: "x=y&z",
}

describe("paths", () => {
  test.each([
    [
      "a streaming list",
      streamingListPath(all, undefined, 300),
      "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=300",
    ],
    [
      "a streaming list not older than a version",
      streamingListPath(all, "7", 300),
      "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=7&timeoutSeconds=300",
    ],
    ["the first page", pagePath(all, 500, undefined, undefined), "limit=500"],
    [
      "the first page not older than a version",
      pagePath(all, 500, "7", undefined),
      "limit=500&resourceVersion=7&resourceVersionMatch=NotOlderThan",
    ],
    ["a later page, which names its token only", pagePath(all, 500, "7", "a/b=="), "limit=500&continue=a%2Fb%3D%3D"],
    [
      "everything not older than a version",
      wholeListPath(all, "7"),
      "resourceVersion=7&resourceVersionMatch=NotOlderThan",
    ],
    ["a watch", watchPath(all, "7", 450), "watch=1&resourceVersion=7&allowWatchBookmarks=true&timeoutSeconds=450"],
    ["a probe", probePath(all), "limit=1"],
  ])("of %s", (_, path, query) => {
    expect(path).toBe(`/api/v1/pods?${query}`)
  })

  test("the current state of everything needs no query", () => {
    expect(wholeListPath(all, undefined)).toBe("/api/v1/pods")
  })

  test("selectors are sent with every request, encoded", () => {
    const paths = [
      streamingListPath(some, undefined, 1),
      pagePath(some, 5, undefined, undefined),
      pagePath(some, 5, undefined, "token"),
      wholeListPath(some, undefined),
      watchPath(some, "7", 1),
      probePath(some),
    ]
    for (const path of paths) {
      const url = new URL(path, "http://server")
      expect(url.pathname).toBe("/apis/apps/v1/namespaces/a/deployments")
      expect([url.searchParams.get("labelSelector"), url.searchParams.get("fieldSelector")]).toEqual([
        "a in (b,c)",
        "x=y&z",
      ])
    }
  })
})
