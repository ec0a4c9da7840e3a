import { PROGRAM_SCOPES } from './programs.ts'
import { bool, constant, list, named, type Static, text, time } from './schema.ts'

const id = text('Identifier of the access')
const program = text('The program, as it calls itself, unverified')
const scope = text('What it may do: read; publish, which includes reading; manage, which includes all', {
  enum: PROGRAM_SCOPES,
})
const expiresAt = time('When the access ends')

/** A program that asks for access. */
export const authorizationRequest = named('AuthorizationRequest', {
  program,
  returnsTo: text('The host that gets the access, or the scheme of a program on this device'),
  scope,
  expiresAt,
})
export type AuthorizationRequest = Static<typeof authorizationRequest>

export const authorizationDecision = named('AuthorizationDecision', {
  allow: bool('Whether the program gets the access'),
})
export type AuthorizationDecision = Static<typeof authorizationDecision>

export const authorizationResult = named('AuthorizationResult', { url: text('Where the browser continues') })
export type AuthorizationResult = Static<typeof authorizationResult>

/** A program with access to the account. */
const authorizedProgram = named('Program', {
  id,
  program,
  scope,
  createdAt: time('When it got the access'),
  expiresAt,
})
export type AuthorizedProgram = Static<typeof authorizedProgram>

export const programList = named('ProgramList', { programs: list(authorizedProgram, 'Newest first') })
export type ProgramList = Static<typeof programList>

export const programRevokedResponse = named('RevokedProgram', { id, revoked: constant(true, 'Always true') })
export type ProgramRevokedResponse = Static<typeof programRevokedResponse>
