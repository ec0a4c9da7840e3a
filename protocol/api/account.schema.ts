import { UNLIMITED } from '../format.ts'
import { EXCEPTIONS, NOTICE_KINDS, type NoticeKind } from './account.ts'
import { email, suspension } from './fields.schema.ts'
import { currentKey } from './keys.schema.ts'
import { MAX_KEY_NAME_LENGTH } from './keys.ts'
import {
  bool,
  constant,
  integer,
  list,
  named,
  nullable,
  object,
  type Schema,
  type Static,
  type StaticFields,
  text,
  time,
} from './schema.ts'

// Sign-in and the account (spec 4.1, 4.2 and 5; contract, "Sign-in").

const code = text('The emailed code, XXXX-XXXX', { maxLength: 40 })
const reminders = bool('Whether the account gets emails about expiring or deleted sites')
const plan = text('The plan of the account: free, hobby or another one of this server')
const isNewUser = bool('The account is new')
const message = text('A message for people')
const apiKey = text('Shown once')
const warning = text('A reminder that the key is shown once')
export type Plan = Static<typeof plan>

export const requestCodeRequest = named('CodeRequest', { email })
/** Spec 4.1. */
export const requestCodeResponse = named('CodeResponse', {
  message,
  email,
  expiresInSeconds: integer('600'),
  attempt: text('Send it with the code, so that wrong codes that others enter do not invalidate it; secret'),
  delivery: text(
    'Where the code is: in an email, or, on a server without email, in the terminal or the log of the service (its stderr) and in the folder `mail` of its data',
    { enum: ['email', 'log'] },
  ),
})
export type RequestCodeResponse = Static<typeof requestCodeResponse>

const attempt = text('The attempt from the response of request-code', { maxLength: 100 })
const keyName = text(
  'Creates a named key: the key without a name stays valid, and an earlier key of this name becomes invalid',
  { minLength: 1, maxLength: MAX_KEY_NAME_LENGTH },
)
export const verifyCodeRequest = named('SignInRequest', { email, code }, { attempt })
export const verifyKeyRequest = named('KeyRequest', { email, code }, { attempt, keyName })

/** Spec 4.2. */
export const verifyCodeResponse = named(
  'SignInResponse',
  { message, apiKey, email, plan, isNewUser, warning },
  { keyName: text('The name of the key, if it has one') },
)
export type VerifyCodeResponse = Static<typeof verifyCodeResponse>

/** The sign-in of the dashboard: the cookie is in a header. */
export const sessionResponse = named('SessionResponse', { email, plan, isNewUser })
export type SessionResponse = Static<typeof sessionResponse>

export const signedOutResponse = named('SignedOutResponse', { success: constant(true, 'Always true') })

export const newKeyResponse = named('ApiKey', { apiKey, warning })
export type NewKeyResponse = Static<typeof newKeyResponse>

export const keyEndedResponse = named('EndedKey', { ended: constant(true, 'Always true') })
export type KeyEndedResponse = Static<typeof keyEndedResponse>

/** The limits of an account, by its plan and its exceptions from it. */
const limitFields = {
  requestsPerHour: integer(
    `Requests per hour. Without a limit, this and the following limits are 2^53 − 1 (${UNLIMITED})`,
  ),
  sites: integer('Sites, those in the trash included'),
  bytes: integer('Size of all versions of all sites, each content once, and of unfinished uploads'),
  domains: integer('Custom domains'),
  filesPerSite: integer('Files in a site'),
  fileBytes: integer('Largest file'),
  siteBytes: integer('Largest site'),
  previews: integer('Previews of a site'),
  versionsKept: integer('Versions kept'),
  draftsKept: integer('Drafts kept'),
}
export type Limits = StaticFields<typeof limitFields>

const limits = named('Limits', { ...limitFields, draftLifetimeSeconds: integer('Lifetime of a draft') })
export const planLimits = named('PlanLimits', limitFields)

type Exception = (typeof EXCEPTIONS)[number]
const each = <Name extends string, T>(names: readonly Name[], schema: (name: Name) => Schema<T>) =>
  Object.fromEntries(names.map((name) => [name, schema(name)])) as Record<Name, Schema<T>>

/** Limits in place of those of the plan. */
export const accountExceptions = object(
  {},
  each<Exception, number>(EXCEPTIONS, () => integer('In place of that of the plan')),
)
export type Exceptions = Static<typeof accountExceptions>

/** Exceptions of an account to set; null, for that of the plan, removes one. */
const limitsChange = object(
  {},
  each<Exception, number | null>(EXCEPTIONS, () => ({
    type: ['integer', 'null'],
    minimum: 0,
    maximum: UNLIMITED,
  })),
)
export type LimitsChange = Static<typeof limitsChange>

/** What is absent stays. */
export const planChange = named('PlanChange', {}, { plan, limits: limitsChange })
export type PlanChange = Static<typeof planChange>

export const accountPlan = named('AccountPlan', { plan, limits: accountExceptions })
export type AccountPlan = Static<typeof accountPlan>

const notices = each(Object.keys(NOTICE_KINDS) as NoticeKind[], (kind) => bool(NOTICE_KINDS[kind]))
/** `reminders` is both kinds about sites. */
export const meChange = named('AccountChange', {}, { reminders, notices: named('NoticeChange', {}, notices) })
export type MeChange = Static<typeof meChange>

export const meChangeResponse = named('AccountSwitches', { reminders, notices: object(notices) })
export type MeChangeResponse = Static<typeof meChangeResponse>

export const meResponse = named(
  'Account',
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
    notices: named('Notices', notices),
    emailProblem: nullable(
      named('EmailProblem', {
        at: time('When the mail server refused the address'),
        reply: text('Its reply'),
      }),
      'Why no emails about events are sent; null while the mail server accepts the address',
    ),
    limits,
    usage: object({
      requestsThisHour: integer('Requests in this window'),
      resetsAt: time('When the window ends'),
      sites: integer('Sites'),
      domains: integer('Custom domains'),
      totalBytes: integer(
        'Bytes of the live versions; with more than 2,000 sites, as of a count every ten minutes',
      ),
      heldSites: integer('Sites that count against the limit, those in the trash included'),
      heldBytes: integer(
        'Bytes that count against the limit: of all versions, drafts, previews, unfinished uploads and the trash, each content once',
      ),
    }),
  },
  { suspension },
)
export type Me = Static<typeof meResponse>

/** A browser session. */
const session = named('Session', {
  id: text('Identifier of the session'),
  current: bool('Whether it sent this request'),
  browser: nullable(text('The browser, such as Firefox on Windows; null when it was not recorded')),
  createdAt: time('Sign-in'),
  expiresAt: time('When it expires'),
})
export type SessionSummary = Static<typeof session>

export const sessionList = named('SessionList', { sessions: list(session, 'Newest first') })
export type SessionList = Static<typeof sessionList>

export const sessionsEndedResponse = named('EndedSessions', {
  ended: integer('Number of sessions that ended'),
})
export type SessionsEndedResponse = Static<typeof sessionsEndedResponse>

export const deleteAccountRequest = named('DeleteAccountRequest', { email })
export const deleteAccountResponse = named('DeletedAccount', {
  email,
  deleted: constant(true, 'Always true'),
})
export type DeleteAccountResponse = Static<typeof deleteAccountResponse>
