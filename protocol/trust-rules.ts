import type { TrustRules } from './api/trusts.schema.ts'

/** The jobs that a trust is for: "branch main, pull requests". */
export function formatTrustRules({ branch, tag, environment, workflow, pullRequests }: TrustRules): string {
  const named = Object.entries({ branch, tag, environment, workflow }).filter(([, name]) => name !== null)
  const rules = named.map(([kind, name]) => `${kind} ${name}`)
  return [...rules, ...(pullRequests ? ['pull requests'] : [])].join(', ')
}
