// Authorizations of programs (OAuth).

import type { KeyScope } from './keys.ts'

/** What a program may ask for. It has no tools for previews. */
export const PROGRAM_SCOPES = ['read', 'publish', 'manage'] as const satisfies readonly KeyScope[]

export type ProgramScope = (typeof PROGRAM_SCOPES)[number]

/** A scope with those that it includes, as OAuth lists them. */
export function scopesUpTo(scope: ProgramScope): string {
  return PROGRAM_SCOPES.slice(0, PROGRAM_SCOPES.indexOf(scope) + 1).join(' ')
}

/** The widest scope of a list; undefined for one without a known scope. */
export function widestScope(scopes: string): ProgramScope | undefined {
  const names = scopes.split(' ')
  return PROGRAM_SCOPES.findLast((one) => names.includes(one))
}

/** `GET /api/v1/authorizations/:id`: a program that asks for access. */
export interface AuthorizationRequest {
  /** As the program calls itself, unverified. */
  program: string
  /** The host that gets the access, or the scheme of a program on this device. */
  returnsTo: string
  scope: ProgramScope
  /** Until when the access would last. */
  expiresAt: string
}

/** `POST /api/v1/authorizations/:id`. */
export interface AuthorizationDecision {
  allow: boolean
}

/** Where the browser continues. */
export interface AuthorizationResult {
  url: string
}

/** A program with access to the account. */
export interface AuthorizedProgram {
  id: string
  program: string
  scope: ProgramScope
  createdAt: string
  expiresAt: string
}

/** `GET /api/v1/me/programs`, newest first. */
export interface ProgramList {
  programs: AuthorizedProgram[]
}

/** `DELETE /api/v1/me/programs/:id`. */
export interface ProgramRevokedResponse {
  id: string
  revoked: true
}
