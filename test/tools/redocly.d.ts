/** What tests use of @redocly/openapi-core, whose own types take a fifth of the time of the type check. */

export interface Problem {
  ruleId: string
  message: string
  location: { pointer?: string }[]
}

export function createConfig(settings: { extends: string[] }): Promise<object>

export function lintFromString(document: {
  source: string
  config: object
  absoluteRef: string
}): Promise<Problem[]>

export function parseYaml(text: string): unknown
