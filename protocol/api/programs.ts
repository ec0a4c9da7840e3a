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
  return [...PROGRAM_SCOPES].reverse().find((one) => names.includes(one))
}
