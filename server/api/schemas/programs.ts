import { PROGRAM_SCOPES } from '../../../protocol/api/programs.ts'
import { bool, list, named, object, text, time } from './schema.ts'

const program = text('The program, as it calls itself')
const scope = text('What it may do: read; publish, which includes reading; manage, which includes all', {
  enum: PROGRAM_SCOPES,
})
const id = text('Identifier of the access')
const expiresAt = time('When the access ends')

export const authorizationRequest = named(
  'AuthorizationRequest',
  object({ program, returnsTo: text('The host that gets the access'), scope, expiresAt }),
)
export const authorizationDecision = named(
  'AuthorizationDecision',
  object({ allow: bool('Whether the program gets the access') }),
)
export const authorizationResult = named(
  'AuthorizationResult',
  object({ url: text('Where the browser continues') }),
)
export const programList = named(
  'ProgramList',
  object({
    programs: list(
      named('Program', object({ id, program, scope, createdAt: time('When it got the access'), expiresAt })),
      'Newest first',
    ),
  }),
)
export const programRevokedResponse = named('RevokedProgram', object({ id, revoked: bool('Always true') }))
