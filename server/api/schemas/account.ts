import { EXCEPTIONS, NOTICE_KINDS } from '../../../protocol/api/account.ts'
import { UNLIMITED } from '../../../protocol/format.ts'
import { currentKey } from './keys.ts'
import { bool, integer, list, named, nullable, object, type Schema, text, time } from './schema.ts'
import { suspension } from './site.ts'

const email = text('Email address', { maxLength: 254 })
const code = text('The emailed code, XXXX-XXXX', { maxLength: 40 })
const reminders = bool('Whether the account gets emails about expiring or deleted sites')
const plan = text('The plan of the account: free, hobby or another one of this server')

export const requestCodeRequest = named('CodeRequest', object({ email }))
export const requestCodeResponse = named(
  'CodeResponse',
  object({
    message: text('A message for people'),
    email,
    expiresInSeconds: integer('600'),
    attempt: text(
      'Send it with the code, so that wrong codes that others enter do not invalidate it; secret',
    ),
    delivery: {
      type: 'string',
      enum: ['email', 'log'],
      description:
        'Where the code is: in an email, or, on a server without email, in the terminal or the log of the service (its stderr) and in the folder `mail` of its data',
    },
  }),
)
const attempt = text('The attempt from the response of request-code', { maxLength: 100 })
const keyName = text(
  'Creates a named key: the key without a name stays valid, and an earlier key of this name becomes invalid',
  { minLength: 1, maxLength: 64 },
)
export const verifyCodeRequest = named('SignInRequest', object({ email, code }, { attempt }))
export const verifyKeyRequest = named('KeyRequest', object({ email, code }, { attempt, keyName }))
export const verifyCodeResponse = object(
  {
    message: text('A message for people'),
    apiKey: text('Shown once'),
    email,
    plan,
    isNewUser: bool('The account is new'),
    warning: text('A reminder that the key is shown once'),
  },
  { keyName: text('The name of the key, if it has one') },
  { title: 'SignInResponse' },
)
export const sessionResponse = named(
  'SessionResponse',
  object({ email, plan, isNewUser: bool('The account is new') }),
)
export const signedOutResponse = named('SignedOutResponse', object({ success: bool('Always true') }))
export const newKeyResponse = named(
  'ApiKey',
  object({ apiKey: text('Shown once'), warning: text('A reminder that the key is shown once') }),
)
export const keyEndedResponse = named('EndedKey', object({ ended: bool('Always true') }))
const limitFields = {
  requestsPerHour: integer(
    `Requests per hour. Without a limit, this and the following limits are 2^53 − 1 (${UNLIMITED})`,
  ),
  sites: integer('Sites, those in the trash included'),
  bytes: integer('Size of all versions of all sites, each content once'),
  domains: integer('Custom domains'),
  filesPerSite: integer('Files in a site'),
  fileBytes: integer('Largest file'),
  siteBytes: integer('Largest site'),
  previews: integer('Previews of a site'),
  versionsKept: integer('Versions kept'),
  draftsKept: integer('Drafts kept'),
}
const limits = named(
  'Limits',
  object({ ...limitFields, draftLifetimeSeconds: integer('Lifetime of a draft') }),
)
export const planLimits = named('PlanLimits', object(limitFields))

/** A limit, or null for that of the plan. */
const exception = { type: ['integer', 'null'], minimum: 0, maximum: UNLIMITED }
const exceptions = (schema: Schema) =>
  object({}, Object.fromEntries(EXCEPTIONS.map((name) => [name, schema])))

export const planChange = named('PlanChange', object({}, { plan, limits: exceptions(exception) }))
/** Limits in place of those of the plan. */
export const accountExceptions = exceptions(integer('In place of that of the plan'))
export const accountPlan = named('AccountPlan', object({ plan, limits: accountExceptions }))
const notices = Object.fromEntries(Object.entries(NOTICE_KINDS).map(([kind, label]) => [kind, bool(label)]))
export const meChange = named(
  'AccountChange',
  object({}, { reminders, notices: named('NoticeChange', object({}, notices)) }),
)
export const meChangeResponse = named('AccountSwitches', object({ reminders, notices: object(notices) }))
export const meResponse = named(
  'Account',
  object(
    {
      email,
      plan,
      planName: text('The name of the plan on this server, for people'),
      createdAt: time('Creation'),
      hasKey: bool(
        'There is an API key without a name, or the request carries a key; it cannot be shown again',
      ),
      key: nullable(currentKey),
      administrator: bool('Whether the account administers the service'),
      reminders,
      notices: named('Notices', object(notices)),
      emailProblem: nullable(
        named(
          'EmailProblem',
          object({ at: time('When the mail server refused the address'), reply: text('Its reply') }),
        ),
      ),
      limits,
      usage: object({
        requestsThisHour: integer('Requests in this window'),
        resetsAt: time('When the window ends'),
        sites: integer('Sites'),
        domains: integer('Custom domains'),
        totalBytes: integer('Bytes of the live versions'),
        heldSites: integer('Sites that count against the limit, those in the trash included'),
        heldBytes: integer(
          'Bytes that count against the limit: of all versions, drafts, previews, unfinished uploads and the trash, each content once',
        ),
      }),
    },
    { suspension },
  ),
)

export const sessionList = named(
  'SessionList',
  object({
    sessions: list(
      named(
        'Session',
        object({
          id: text('Identifier of the session'),
          current: bool('Whether it sent this request'),
          browser: nullable(text('The browser, such as Firefox on Windows; null when it was not recorded')),
          createdAt: time('Sign-in'),
          expiresAt: time('When it expires'),
        }),
      ),
      'Newest first',
    ),
  }),
)
export const sessionsEndedResponse = named(
  'EndedSessions',
  object({ ended: integer('Number of sessions that ended') }),
)
export const deleteAccountRequest = named('DeleteAccountRequest', object({ email }))
export const deleteAccountResponse = named('DeletedAccount', object({ email, deleted: bool('Always true') }))
