import { bool, integer, list, nullable, object, text, time } from './schema.ts'

const email = text('Email address', { maxLength: 320 })
const code = text('The mailed code, XXXX-XXXX', { maxLength: 40 })
const plan = { type: 'string', enum: ['free', 'hobby'] }

export const requestCodeRequest = object({ email })
export const requestCodeResponse = object({
  message: text('For a person'),
  email,
  expiresInSeconds: integer('600'),
  attempt: text('To be sent with the code, so that wrong codes of others do not count against it; secret'),
})
export const verifyCodeRequest = object(
  { email, code },
  { attempt: text('What request-code answered; optional', { maxLength: 100 }) },
)
export const verifyCodeResponse = object({
  message: text('For a person'),
  apiKey: text('Shown once'),
  email,
  plan,
  isNewUser: bool('The account is new'),
  warning: text('Says that the key is shown once'),
})
export const sessionResponse = object({ email, plan, isNewUser: bool('The account is new') })
export const signedOutResponse = object({ success: bool('true') })
export const newKeyResponse = object({ apiKey: text('Shown once'), warning: text('Says so') })
export const meResponse = object({
  email,
  plan,
  createdAt: time('Creation'),
  hasKey: bool('There is an API key; it cannot be shown again'),
  limits: object({
    requestsPerHour: integer('Requests an hour'),
    domains: integer('Custom domains'),
    filesPerSite: integer('Files in a site'),
    fileBytes: integer('Largest file'),
    siteBytes: integer('Largest site'),
    versionsKept: integer('Versions kept'),
  }),
  usage: object({
    requestsThisHour: integer('Requests in this window'),
    resetsAt: time('When the window ends'),
    sites: integer('Sites'),
    domains: integer('Custom domains'),
    totalBytes: integer('Bytes of the live versions'),
  }),
})

export const sessionList = object({
  sessions: list(
    object({
      id: text('Names it'),
      current: bool('It is the one that asks'),
      browser: nullable(text('What signed in, such as Firefox on Windows; null when that was not noted')),
      createdAt: time('Sign-in'),
      expiresAt: time('When it ends by itself'),
    }),
    'Newest first',
  ),
})
export const sessionsEndedResponse = object({ ended: integer('How many ended') })
export const deleteAccountRequest = object({ email })
export const deleteAccountResponse = object({ email, deleted: bool('true') })
