/** The parts of the definitions of Simulations that tests look into. */
import type { StructuralSchema } from "../../../src/apiserver/index.ts"
import { simulationDefinitions } from "../../../src/simulation/api/definitions.ts"

interface Rule {
  readonly rule: string
  readonly message: string
  readonly fieldPath?: string
}

interface Column {
  readonly name: string
  readonly jsonPath: string
  readonly description: string
  readonly priority?: number
}

interface Version {
  readonly additionalPrinterColumns: ReadonlyArray<Column>
  readonly schema: { readonly openAPIV3Schema: StructuralSchema }
}

const versionOf = (definition: unknown): Version => {
  const { spec } = definition as { readonly spec: { readonly versions: readonly [Version] } }
  return spec.versions[0]
}

const [simulation, simulationRoot] = simulationDefinitions()

/** What the API server checks of a Simulation, and of a SimulationRoot. */
export const simulationSchema = versionOf(simulation).schema.openAPIV3Schema
export const simulationRootSchema = versionOf(simulationRoot).schema.openAPIV3Schema

/** In the order in which kubectl shows them. */
export const columns = versionOf(simulation).additionalPrinterColumns

export const columnRows = (): ReadonlyArray<string> =>
  columns.map(
    ({ name, jsonPath, description, priority = 0 }) =>
      `| \`${name}\`${priority > 0 ? ", with `-o wide`" : ""} | \`${jsonPath}\` | ${description} |`,
  )

/** A row for each rule in CEL: the field and the message. */
export const ruleRows = (): ReadonlyArray<string> =>
  rulesIn(simulationSchema, "").map(({ path, message }) => `| \`${path}\` | ${message} |`)

interface PlacedRule extends Rule {
  /** Of the field that the message is about. */
  readonly path: string
}

const rulesIn = (schema: StructuralSchema, path: string): ReadonlyArray<PlacedRule> => {
  const { "x-kubernetes-validations": own = [] } = schema as {
    readonly "x-kubernetes-validations"?: ReadonlyArray<Rule>
  }
  const here = own.map((rule) => ({ ...rule, path: `${path}${rule.fieldPath ?? ""}`.slice(1) || "metadata.name" }))
  const inside = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => rulesIn(field, `${path}.${name}`))
  return [...here, ...inside, ...(schema.items === undefined ? [] : rulesIn(schema.items, `${path}[]`))]
}
