import type { OidcIssuer } from '../tools/oidc-issuer.ts'
import type { Api } from './api.ts'

/** Claims of a job of GitHub for a push to main. */
export const GITHUB_CLAIMS = {
  repository: 'Ann/Bakery',
  repository_id: '700123456',
  ref: 'refs/heads/main',
  event_name: 'push',
}

/** A token of a job for this service. */
export function jobToken(api: Api, issuer: OidcIssuer, claims: object = GITHUB_CLAIMS): Promise<string> {
  return issuer.sign({ ...claims }, { issuedAt: Math.floor(api.clock.now / 1000), audience: api.baseUrl })
}
