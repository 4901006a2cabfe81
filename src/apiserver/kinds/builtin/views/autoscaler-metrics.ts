/**
 * The metrics of a HorizontalPodAutoscaler as autoscaling/v2 and as v1 write them. In v1 they are annotations, with one
 * shape for specifications and one for states; keys come in the order of the Go structs.
 */

import { member, text } from "../../json-member.ts"
import type { JsonObject } from "../../resources.ts"

/** The member that describes each type of metric. */
const memberOf: Readonly<Record<string, string>> = {
  Object: "object",
  Pods: "pods",
  Resource: "resource",
  ContainerResource: "containerResource",
  External: "external",
}

/** Without the members that are undefined. */
export const defined = (members: Readonly<Record<string, unknown>>): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

const converted = (metric: unknown, convert: (type: string, source: unknown) => JsonObject): JsonObject => {
  const type = text(metric, "type")
  const key = Object.hasOwn(memberOf, type) ? memberOf[type] : undefined
  return key === undefined ? { type } : { type, [key]: convert(type, member(metric, key)) }
}

export const specToV1 = (metric: unknown): JsonObject =>
  converted(metric, (type, source) => {
    const [name, selector] = [member(source, "metric", "name"), member(source, "metric", "selector")]
    const value = member(source, "target", "value")
    const averageValue = member(source, "target", "averageValue")
    switch (type) {
      case "Object":
        return defined({
          target: member(source, "describedObject"),
          metricName: name,
          targetValue: value ?? "0",
          selector,
          averageValue,
        })
      case "Pods":
        return defined({ metricName: name, targetAverageValue: averageValue ?? "0", selector })
      case "External":
        return defined({
          metricName: name,
          metricSelector: selector,
          targetValue: value,
          targetAverageValue: averageValue,
        })
      default:
        return defined({
          name: member(source, "name"),
          targetAverageUtilization: member(source, "target", "averageUtilization"),
          targetAverageValue: averageValue,
          container: member(source, "container"),
        })
    }
  })

export const specToV2 = (metric: unknown): JsonObject =>
  converted(metric, (type, source) => {
    const identifier = (selector: string): JsonObject =>
      defined({ name: member(source, "metricName"), selector: member(source, selector) })
    switch (type) {
      case "Object": {
        const averageValue = member(source, "averageValue")
        const target = { value: member(source, "targetValue"), averageValue }
        return defined({
          describedObject: member(source, "target"),
          target: defined({ type: averageValue === undefined ? "Value" : "AverageValue", ...target }),
          metric: identifier("selector"),
        })
      }
      case "Pods":
        return {
          metric: identifier("selector"),
          target: defined({ type: "AverageValue", averageValue: member(source, "targetAverageValue") }),
        }
      case "External": {
        const value = member(source, "targetValue")
        const target = { value, averageValue: member(source, "targetAverageValue") }
        return {
          metric: identifier("metricSelector"),
          target: defined({ type: value === undefined ? "AverageValue" : "Value", ...target }),
        }
      }
      default: {
        const averageUtilization = member(source, "targetAverageUtilization")
        const target = { averageValue: member(source, "targetAverageValue"), averageUtilization }
        return defined({
          name: member(source, "name"),
          target: defined({ type: averageUtilization === undefined ? "AverageValue" : "Utilization", ...target }),
          container: member(source, "container"),
        })
      }
    }
  })

export const statusToV1 = (metric: unknown): JsonObject =>
  converted(metric, (type, source) => {
    const [name, selector] = [member(source, "metric", "name"), member(source, "metric", "selector")]
    const value = member(source, "current", "value")
    const averageValue = member(source, "current", "averageValue")
    switch (type) {
      case "Object":
        return defined({
          target: member(source, "describedObject"),
          metricName: name,
          currentValue: value ?? "0",
          selector,
          averageValue,
        })
      case "Pods":
        return defined({ metricName: name, currentAverageValue: averageValue ?? "0", selector })
      case "External":
        return defined({
          metricName: name,
          metricSelector: selector,
          currentValue: value ?? "0",
          currentAverageValue: averageValue,
        })
      default:
        return defined({
          name: member(source, "name"),
          currentAverageUtilization: member(source, "current", "averageUtilization"),
          currentAverageValue: averageValue ?? "0",
          container: member(source, "container"),
        })
    }
  })

export const statusToV2 = (metric: unknown): JsonObject =>
  converted(metric, (type, source) => {
    const identifier = (selector: string): JsonObject =>
      defined({ name: member(source, "metricName"), selector: member(source, selector) })
    switch (type) {
      case "Object":
        return defined({
          metric: identifier("selector"),
          current: defined({ value: member(source, "currentValue"), averageValue: member(source, "averageValue") }),
          describedObject: member(source, "target"),
        })
      case "Pods":
        return {
          metric: identifier("selector"),
          current: defined({ averageValue: member(source, "currentAverageValue") }),
        }
      case "External": {
        const averageValue = member(source, "currentAverageValue")
        return {
          metric: identifier("metricSelector"),
          current: defined({ value: member(source, "currentValue"), averageValue }),
        }
      }
      default: {
        const averageUtilization = member(source, "currentAverageUtilization")
        return defined({
          name: member(source, "name"),
          current: defined({ averageValue: member(source, "currentAverageValue"), averageUtilization }),
          container: member(source, "container"),
        })
      }
    }
  })
