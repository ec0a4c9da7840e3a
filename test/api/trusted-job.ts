import { GITHUB_TOKENS } from '../recorded/github.ts'
import type { OidcIssuer } from '../tools/oidc-issuer.ts'
import type { Api } from './api.ts'

/** The claims of GitHub for an event, in the repository `Ann/Bakery`. */
export function githubClaims(event: keyof typeof GITHUB_TOKENS) {
  const { claims } = GITHUB_TOKENS[event]
  const at = `Ann/Bakery/.github/workflows/claims.yaml@${claims.ref}`
  return { ...claims, repository: 'Ann/Bakery', repository_id: '700123456', workflow_ref: at }
}

/** Claims of a job of GitHub for a push to main. */
export const GITHUB_CLAIMS = {
  ...githubClaims('push'),
  ref: 'refs/heads/main',
  workflow_ref: 'Ann/Bakery/.github/workflows/claims.yaml@refs/heads/main',
}

/** A token of a job for this service. */
export function jobToken(api: Api, issuer: OidcIssuer, claims: object = GITHUB_CLAIMS): Promise<string> {
  return issuer.sign({ ...claims }, { issuedAt: Math.floor(api.clock.now / 1000), audience: api.baseUrl })
}
