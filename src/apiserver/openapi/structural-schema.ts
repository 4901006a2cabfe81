/** The part of a CustomResourceDefinition's `openAPIV3Schema` that is read here, as JSON. */

/** How server-side apply and strategic merge patch treat a list. */
export type ListType = "atomic" | "set" | "map"

export interface StructuralSchema {
  readonly type?: string
  readonly format?: string
  readonly description?: string
  readonly nullable?: boolean
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, StructuralSchema>>
  readonly additionalProperties?: StructuralSchema | boolean
  readonly items?: StructuralSchema
  readonly required?: ReadonlyArray<string>
  readonly enum?: ReadonlyArray<unknown>
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: boolean
  readonly exclusiveMaximum?: boolean
  readonly multipleOf?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly allOf?: ReadonlyArray<StructuralSchema>
  readonly anyOf?: ReadonlyArray<StructuralSchema>
  readonly oneOf?: ReadonlyArray<StructuralSchema>
  readonly not?: StructuralSchema
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean
  readonly "x-kubernetes-embedded-resource"?: boolean
  readonly "x-kubernetes-int-or-string"?: boolean
  readonly "x-kubernetes-list-type"?: ListType
  readonly "x-kubernetes-list-map-keys"?: ReadonlyArray<string>
  readonly "x-kubernetes-map-type"?: string
  readonly "x-kubernetes-validations"?: ReadonlyArray<ValidationRule>
}

/** A rule in CEL that a value must obey. */
export interface ValidationRule {
  readonly rule: string
  readonly message?: string
  /** An expression for the message; it takes precedence. */
  readonly messageExpression?: string
  /** `FieldValueInvalid` by default. */
  readonly reason?: string
  /** The field that is reported instead of the value itself: `.spec.replicas`. */
  readonly fieldPath?: string
  /** Whether `oldSelf` is an optional value, so that the rule holds for new values too. */
  readonly optionalOldSelf?: boolean
}

/** Deeper schemas count as "anything": the code that follows a schema is recursive, and its stack is limited. */
export const maximumSchemaDepth = 500
