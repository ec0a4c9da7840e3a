// Trusted publishing (contract, "Trusted publishing"): CI jobs of a repository get keys without a stored secret.
import type { AccountScope } from './keys.ts'

/** Kinds of forges, by the claims of their tokens. */
export const FORGES = ['github', 'gitlab'] as const

export type Forge = (typeof FORGES)[number]

/** Which jobs of a repository a trust is for. Each of these fields that is set must match. */
export interface TrustRules {
  /** A branch, or the beginning of its name and `*`. */
  branch: string | null
  /** A tag, or the beginning of its name and `*`. */
  tag: string | null
  /** A deployment environment of the forge, compared without case. */
  environment: string | null
  /** The file in the repository that defines the pipeline: `.github/workflows/deploy.yml`, `.gitlab-ci.yml`. */
  workflow: string | null
  /** Whether jobs of pull requests from branches of the repository itself count. */
  pullRequests: boolean
}

/** A repository whose jobs may exchange their tokens for keys of one site. */
export interface Trust extends TrustRules {
  id: string
  forge: Forge
  /** The URL of the issuer of the tokens. */
  issuer: string
  /** In lower case. */
  repository: string
  /** The forge's id of the repository; `null` until the first exchange fixes it. */
  repositoryId: string | null
  /** The slug of the site. */
  site: string
  /** The scope of the keys. */
  scope: AccountScope
  createdAt: string
  /** The last exchange. */
  lastUsedAt: string | null
}

/** `GET /api/v1/me/trusts`, newest first. */
export interface TrustList {
  trusts: Trust[]
}

/** `POST /api/v1/me/trusts`. One of `branch`, `tag`, `environment` and `pullRequests` is required. */
export interface CreateTrustRequest extends Partial<TrustRules> {
  forge: Forge
  repository: string
  site: string
  /** By default the first issuer of the forge in the settings of the service. */
  issuer?: string | null
  repositoryId?: string | null
  /** Default `publish`. */
  scope?: AccountScope
}

/** `DELETE /api/v1/me/trusts/:id`. */
export interface TrustRemovedResponse {
  id: string
  removed: true
}

/** `POST /api/auth/oidc/exchange`. */
export interface ExchangeRequest {
  /** The token of the job. */
  token: string
  /** A slug; required when several sites trust the repository. */
  site?: string
}

export interface ExchangeResponse {
  apiKey: string
  /** The slug of the only site that the key is for. */
  site: string
  scope: AccountScope
  expiresAt: string
}
