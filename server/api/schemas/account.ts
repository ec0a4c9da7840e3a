import { flag, list, object, orNull, text, time, whole } from './schema.ts'

const email = text('Email address', { maxLength: 320 })
const code = text('The mailed code, XXXX-XXXX', { maxLength: 40 })
const plan = { type: 'string', enum: ['free', 'hobby'] }

export const requestCodeRequest = object({ email })
export const requestCodeAnswer = object({
  message: text('For a person'),
  email,
  expiresInSeconds: whole('600'),
})
export const verifyCodeRequest = object({ email, code })
export const verifyCodeAnswer = object({
  message: text('For a person'),
  apiKey: text('Shown once'),
  email,
  plan,
  isNewUser: flag('The account is new'),
  warning: text('Says that the key is shown once'),
})
export const sessionAnswer = object({ email, plan, isNewUser: flag('The account is new') })
export const signedOutAnswer = object({ success: flag('true') })
export const newKeyAnswer = object({ apiKey: text('Shown once'), warning: text('Says so') })
export const meAnswer = object({
  email,
  plan,
  createdAt: time('Creation'),
  hasKey: flag('There is an API key; it cannot be shown again'),
  limits: object({
    requestsPerHour: whole('Requests an hour'),
    domains: whole('Custom domains'),
    filesPerSite: whole('Files in a site'),
    fileBytes: whole('Largest file'),
    siteBytes: whole('Largest site'),
    versionsKept: whole('Versions kept'),
  }),
  usage: object({
    requestsThisHour: whole('Requests in this window'),
    resetsAt: time('When the window ends'),
    sites: whole('Sites'),
    domains: whole('Custom domains'),
    totalBytes: whole('Bytes of the live versions'),
  }),
})

export const sessionList = object({
  sessions: list(
    object({
      id: text('Names it'),
      current: flag('It is the one that asks'),
      browser: orNull(text('What signed in, such as Firefox on Windows; null when that was not noted')),
      createdAt: time('Sign-in'),
      expiresAt: time('When it ends by itself'),
    }),
    'Newest first',
  ),
})
export const sessionsEndedAnswer = object({ ended: whole('How many ended') })
export const leaveRequest = object({ email })
export const leaveAnswer = object({ email, deleted: flag('true') })
