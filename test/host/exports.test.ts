import { expect, test } from "vitest"
import * as host from "../../src/host/controllers.ts"

test("kubereel/host exports the intended names, and nothing by accident", () => {
  expect(Object.keys(host).sort()).toEqual([
    "AlreadyExistsError",
    "ApiRefusalError",
    "ApiUnreachableError",
    "ConflictError",
    "ExpiredError",
    "ForbiddenError",
    "InvalidControllerError",
    "InvalidError",
    "NotFoundError",
    "NotWatchedError",
    "OwnershipError",
    "TerminalError",
    "TooManyRequestsError",
    "UnauthorizedError",
    "allOf",
    "annotationsChanged",
    "anyOf",
    "defineController",
    "findCondition",
    "generationChanged",
    "isConditionTrue",
    "labelsChanged",
    "removeCondition",
    "rulesOf",
    "runControllers",
    "setCondition",
    "setControllerReference",
    "setOwnerReference",
    "systemClock",
    "webhookRulesOf",
  ])
})
